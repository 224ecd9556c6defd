"""Which pods of a PodGroup use its claims, and for whom a claim is reserved."""

from typing import Any

from harness.subject.plugin import group_members
from tests.support import api_objects

Object = dict[str, Any]


def member(name: str, *, node: str = "", group: str = "g") -> Object:
    pod: Object = api_objects.known_pod(name)
    pod["spec"]["schedulingGroup"] = {"podGroupName": group}
    if node:
        pod["spec"]["nodeName"] = node
    return pod


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
