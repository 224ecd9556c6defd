"""Amounts of extended resources, and the device requests that are made of them."""

from typing import Any

import pytest

from harness.subject.extended_resources import extended_requests

Object = dict[str, Any]
GPU, NIC = "example.com/gpu", "example.com/nic"
CLASSES = {GPU: "gpus", NIC: "nics"}


def container(name: str, *, sidecar: bool = False, **amounts: int) -> Object:
    """A container; amounts by the last part of the resource's name."""
    requests = {f"example.com/{key}": str(value) for key, value in amounts.items()} | {"cpu": "1"}
    made: Object = {"name": name, "resources": {"requests": requests}}
    return made | {"restartPolicy": "Always"} if sidecar else made


def pod(*containers: Object, init: tuple[Object, ...] = ()) -> Object:
    return {"spec": {"containers": list(containers), "initContainers": list(init)}}


def requests_of(made: Object) -> dict[str, int]:
    requests, _ = extended_requests.for_pod(made, {GPU: CLASSES[GPU]})
    return {item["name"]: item["exactly"]["count"] for item in requests}


def users_of(made: Object) -> dict[str, list[str]]:
    users: dict[str, list[str]] = {}
    for mapping in extended_requests.for_pod(made, {GPU: CLASSES[GPU]})[1]:
        users.setdefault(mapping["containerName"], []).append(mapping["requestName"])
    return users


@pytest.mark.parametrize(
    ("name", "extended"),
    [
        (GPU, True),
        ("deviceclass.resource.kubernetes.io/gpus", True),
        ("cpu", False),
        ("hugepages-2Mi", False),
        ("other.kubernetes.io/thing", False),
        ("requests.example.com/gpu", False),
    ],
)
def test_which_resources_are_extended(name: str, extended: bool) -> None:
    assert extended_requests.is_extended(name) is extended


def test_what_a_pod_needs_at_once() -> None:
    """Init containers one after the other, sidecars from then on, containers together."""
    c = container
    assert extended_requests.of_pod(pod(c("a", gpu=1), c("b", gpu=2, nic=1))) == {GPU: 3, NIC: 1}
    assert extended_requests.of_pod(pod(c("a", gpu=1), init=(c("i", gpu=3), c("j", gpu=2)))) == {
        GPU: 3
    }
    with_sidecar = pod(c("a", gpu=1), init=(c("s", gpu=1, sidecar=True), c("j", gpu=3)))
    assert extended_requests.of_pod(with_sidecar) == {GPU: 4}
    assert extended_requests.of_pod(pod(c("a", gpu=0), c("b"))) == {}


def test_init_containers_share_the_largest_request_for_the_rest() -> None:
    made = pod(container("a", gpu=1), init=(container("i", gpu=2), container("j", gpu=4)))
    assert requests_of(made) == {"container-1-request-1": 3, "container-2-request-1": 1}
    shared = ["container-2-request-1", "container-1-request-1"]
    assert users_of(made) == {"a": ["container-2-request-1"], "i": shared, "j": shared}
