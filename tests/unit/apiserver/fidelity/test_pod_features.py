"""Subresources of pods that write a part of the spec, in a store."""

from typing import Any

import pytest

from harness.apiserver.scheme import resources

PODS = resources.PODS
DEBUGGER = {"name": "debugger", "image": "none"}


def spec_of(store: Any) -> Any:
    return store.get(PODS, "default", "p").document()["spec"]


@pytest.fixture(autouse=True)
def pod(store: Any) -> None:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    made = {"metadata": {"name": "p", "labels": {"a": "b"}}, "spec": {"containers": [container]}}
    store.create(PODS, "default", made)


def changed(store: Any, part: str, spec: dict[str, Any], **meta: Any) -> Any:
    def change(document: dict[str, Any]) -> dict[str, Any]:
        document["spec"] = {**document["spec"], **spec}
        document["metadata"] |= meta
        document["status"] = {"phase": "Running"}
        return document

    return store.patch(PODS, "default", "p", change, subresource=part).document()


def with_resources(**resources: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "other", "resources": resources}]}


def test_an_ephemeral_container_is_added_and_nothing_else_changes(store: Any) -> None:
    wanted = {"ephemeralContainers": [DEBUGGER], "nodeName": "n"}
    found = changed(store, "ephemeralcontainers", wanted, labels={"c": "d"})
    assert (
        found["spec"]["ephemeralContainers"][0]["terminationMessagePath"] == "/dev/termination-log"
    )
    assert "nodeName" not in found["spec"]
    assert found["metadata"]["labels"] == {"a": "b"}
    assert found["metadata"]["generation"] == 2
    assert found["status"]["phase"] == "Pending"


@pytest.mark.parametrize(
    ("containers", "text"),
    [
        ([], 'existing ephemeral containers "debugger" may not be removed'),
        (
            [DEBUGGER | {"image": "x"}],
            'existing ephemeral containers "debugger" may not be changed',
        ),
        (
            [DEBUGGER, {"name": "c", "image": "i"}],
            'ephemeralContainers[1].name: Duplicate value: "c"',
        ),
        ([DEBUGGER, {"name": "d"}], "spec.ephemeralContainers[1].image: Required value"),
        (
            [DEBUGGER, {"name": "d", "image": "i", "targetContainerName": "z"}],
            'spec.ephemeralContainers[1].targetContainerName: Not found: "z"',
        ),
        (
            [DEBUGGER, {"name": "d", "image": "i", "ports": [{"containerPort": 1}]}],
            "spec.ephemeralContainers[1].ports: Forbidden: cannot be set for an Ephemeral Container",
        ),
    ],
)
def test_what_ephemeral_containers_may_not_do(
    store: Any, refuses: Any, containers: Any, text: str
) -> None:
    changed(store, "ephemeralcontainers", {"ephemeralContainers": [DEBUGGER]})
    with refuses(422, "Invalid", text):
        changed(store, "ephemeralcontainers", {"ephemeralContainers": containers})


def test_ephemeral_containers_are_added_in_their_own_way_only(store: Any, refuses: Any) -> None:
    with refuses(422, "Invalid", "pod updates may not change fields"):
        changed(store, "", {"ephemeralContainers": [DEBUGGER]})


def test_a_container_is_resized_and_nothing_else_changes(store: Any) -> None:
    wanted = with_resources(requests={"cpu": "2", "memory": "1Gi"}) | {"nodeName": "n"}
    found = changed(store, "resize", wanted)
    (container,) = found["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "2", "memory": "1Gi"}}
    assert (container["image"], "nodeName" in found["spec"]) == ("i", False)
    assert found["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("resources", "text"),
    [
        (
            {"requests": {}},
            "spec.containers[0].resources.requests: Forbidden: resource requests cannot be",
        ),
        ({"requests": {}}, "Pod QOS Class may not change as a result of resizing"),
        ({"requests": {"cpu": "1", "x.y/z": "1"}}, "only cpu and memory resources are mutable"),
        ({"requests": {"cpu": "-1"}}, "must be greater than or equal to 0"),
    ],
)
def test_what_resizing_may_not_do(store: Any, refuses: Any, resources: Any, text: str) -> None:
    with refuses(422, "Invalid", text):
        changed(store, "resize", with_resources(**resources))


def test_init_containers_are_not_resized(store: Any, refuses: Any) -> None:
    made = {"name": "i", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    spec = {"containers": [{"name": "c", "image": "i"}], "initContainers": [made]}
    store.create(PODS, "default", {"metadata": {"name": "q"}, "spec": spec})

    def change(document: dict[str, Any]) -> dict[str, Any]:
        document["spec"]["initContainers"][0]["resources"]["requests"]["cpu"] = "2"
        return document

    with refuses(422, "Invalid", "resources for non-sidecar init containers are immutable"):
        store.patch(PODS, "default", "q", change, subresource="resize")


def test_a_running_container_of_which_nothing_is_known(store: Any, refuses: Any) -> None:
    def run(document: dict[str, Any]) -> dict[str, Any]:
        running = {"name": "c", "state": {"running": {}}}
        return document | {"status": {"phase": "Running", "containerStatuses": [running]}}

    store.patch(PODS, "default", "p", run, subresource="status")
    with refuses(422, "Invalid", "Pod running on node without support for resize"):
        changed(store, "resize", with_resources(requests={"cpu": "2"}))


def test_the_class_of_a_pod_is_kept_by_who_does_not_know_of_it(store: Any) -> None:
    found = changed(store, "status", {})
    assert found["status"] == {"phase": "Running", "qosClass": "Burstable"}
