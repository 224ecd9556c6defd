"""Amounts of extended resources, and the device requests that are made of them."""

from typing import Any

import pytest

from harness.subject.extended_resources import node_variants, plugin_devices

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
    requests, _ = node_variants.of_pod(made, CLASSES, [GPU])
    return {item["name"]: item["exactly"]["count"] for item in requests}


def users_of(made: Object) -> dict[str, list[str]]:
    users: dict[str, list[str]] = {}
    for mapping in node_variants.of_pod(made, CLASSES, [GPU])[1]:
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
    assert plugin_devices.is_extended(name) is extended


def test_what_a_pod_needs_at_once() -> None:
    """Init containers one after the other, sidecars from then on, containers together."""
    c = container
    assert plugin_devices.of_pod(pod(c("a", gpu=1), c("b", gpu=2, nic=1))) == {GPU: 3, NIC: 1}
    assert plugin_devices.of_pod(pod(c("a", gpu=1), init=(c("i", gpu=3), c("j", gpu=2)))) == {
        GPU: 3
    }
    with_sidecar = pod(c("a", gpu=1), init=(c("s", gpu=1, sidecar=True), c("j", gpu=3)))
    assert plugin_devices.of_pod(with_sidecar) == {GPU: 4}
    assert plugin_devices.of_pod(pod(c("a", gpu=0), c("b"))) == {}


def test_each_container_has_a_request_of_its_own() -> None:
    """The name has the indexes of the container and of the resource among all its requests."""
    made = pod(container("a", gpu=1), container("b"), container("c", gpu=2, nic=1))
    requests, mappings = node_variants.of_pod(made, CLASSES, [NIC, GPU])
    exact = {"allocationMode": "ExactCount"}
    assert requests == [
        {
            "name": "container-0-request-1",
            "exactly": {"deviceClassName": "gpus", "count": 1, **exact},
        },
        {
            "name": "container-2-request-1",
            "exactly": {"deviceClassName": "gpus", "count": 2, **exact},
        },
        {
            "name": "container-2-request-2",
            "exactly": {"deviceClassName": "nics", "count": 1, **exact},
        },
    ]
    assert mappings[-1] == {
        "containerName": "c",
        "resourceName": NIC,
        "requestName": "container-2-request-2",
    }


def test_init_containers_use_what_later_containers_have() -> None:
    made = pod(container("a", gpu=1), container("b", gpu=1), init=(container("i", gpu=2),))
    assert requests_of(made) == {"container-1-request-1": 1, "container-2-request-1": 1}
    assert users_of(made)["i"] == ["container-1-request-1", "container-2-request-1"]


def test_init_containers_share_the_largest_request_for_the_rest() -> None:
    made = pod(container("a", gpu=1), init=(container("i", gpu=2), container("j", gpu=4)))
    assert requests_of(made) == {"container-1-request-1": 3, "container-2-request-1": 1}
    shared = ["container-2-request-1", "container-1-request-1"]
    assert users_of(made) == {"a": ["container-2-request-1"], "i": shared, "j": shared}


def test_a_sidecar_keeps_its_devices() -> None:
    """An init container after it cannot use them, one before it can."""
    sidecar = container("s", gpu=1, sidecar=True)
    made = pod(container("a"), init=(container("i", gpu=1), sidecar, container("j", gpu=1)))
    assert users_of(made) == {
        "s": ["container-1-request-1"],
        "i": ["container-1-request-1"],
        "j": ["container-2-request-1"],
    }
