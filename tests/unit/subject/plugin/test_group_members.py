"""Which pods of a PodGroup use its claims, and for whom a claim is reserved."""

from typing import Any

from harness.subject.objects import claims, pod_groups
from harness.subject.plugin import group_members
from tests.support import api_objects

Object = dict[str, Any]
SHARED = {"name": "gpu", "resourceClaimTemplateName": "t"}
GROUP: Object = {
    "metadata": {"name": "g", "namespace": "default", "uid": "group-uid"},
    "spec": {"schedulingPolicy": {"basic": {}}, "resourceClaims": [SHARED]},
}


def member(name: str, *, node: str = "", group: str = "g") -> Object:
    pod: Object = api_objects.known_pod(name)
    pod["spec"]["schedulingGroup"] = {"podGroupName": group}
    if node:
        pod["spec"]["nodeName"] = node
    return pod


def claim_of(kind: str, name: str) -> Object:
    owner = {
        "apiVersion": "scheduling.k8s.io/v1alpha2" if kind == "PodGroup" else "v1",
        "kind": kind,
        "name": name,
        "uid": "x",
        "controller": True,
    }
    return {"metadata": {"name": "c", "uid": "c", "ownerReferences": [owner]}}


def test_the_claim_of_an_entry_is_reserved_for_the_group_if_it_has_the_same_entry() -> None:
    pod = member("p")
    pod["spec"]["resourceClaims"] = [SHARED, {**SHARED, "name": "own"}]
    pod["status"] = {
        "resourceClaimStatuses": [
            {"name": name, "resourceClaimName": name} for name in ("gpu", "own")
        ]
    }
    assert claims.users_of(pod, GROUP) == [GROUP, pod]
    assert claims.users_of(pod, None) == [pod, pod]
    reserved = claims.with_reservation({"metadata": {"name": "c"}}, GROUP)
    assert reserved["status"]["reservedFor"] == [
        {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "group-uid"}
    ]
    assert claims.is_reserved_for(reserved, GROUP)
    assert not claims.is_reserved_for(reserved, pod)


def test_a_claim_of_the_group_is_one_of_its_pods() -> None:
    pod = member("p")
    assert claims.is_for(claim_of("PodGroup", "g"), pod)
    assert not claims.is_for(claim_of("PodGroup", "h"), pod)
    assert not claims.is_for(claim_of("Pod", "g"), pod)
    assert pod_groups.key_of(api_objects.known_pod("alone")) is None


def test_pods_on_nodes_and_those_about_to_be_bound_are_scheduled() -> None:
    members, pods = group_members.GroupMembers(), [member("a"), member("b")]
    stranger = member("c", group="h", node="n")
    members.on_state(stranger)
    assert not members.are_scheduled(pods[0])
    members.assume(pods[0])
    members.on_state({**pods[1], "spec": {**pods[1]["spec"], "nodeName": "n"}})
    members.forget(pods[0])
    assert members.are_scheduled(pods[0])
    members.on_state({**pods[1], "status": {"phase": "Succeeded"}})
    assert not members.are_scheduled(pods[0])
    members.on_delete(stranger)
    assert not members.are_scheduled(stranger)
