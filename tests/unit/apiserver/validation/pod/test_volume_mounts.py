"""Volume mounts and block devices of containers."""

from typing import Any

import pytest

from harness.apiserver.validation.pod import volume_mounts

Document = dict[str, Any]
VOLUMES: dict[str, Document] = {
    "e": {"emptyDir": {}},
    "p": {"persistentVolumeClaim": {"claimName": "c"}},
}


def mount(**fields: Any) -> Document:
    return {"volumeMounts": [{"name": "e", "mountPath": "/e", **fields}]}


def device(**fields: Any) -> Document:
    return {"volumeDevices": [{"name": "p", "devicePath": "/d", **fields}]}


CASES = [
    (mount(subPath="a/b", readOnly=True, recursiveReadOnly="Enabled"), []),
    (mount(name="x"), [("c.volumeMounts[0].name", "NotFound")]),
    (mount(mountPath=""), [("c.volumeMounts[0].mountPath", "Required")]),
    (mount(subPath="../a"), [("c.volumeMounts.subPath", "Invalid")]),
    (mount(subPath="a", subPathExpr="b"), [("c.volumeMounts[0].subPathExpr", "Invalid")]),
    (mount(mountPropagation="x"), [("c.volumeMounts.mountPropagation", "NotSupported")]),
    (mount(mountPropagation="Bidirectional"), [("c.volumeMounts.mountPropagation", "Forbidden")]),
    (
        mount(mountPropagation="Bidirectional") | {"securityContext": {"privileged": True}},
        [],
    ),
    (mount(recursiveReadOnly="Enabled"), [("c.volumeMounts.recursiveReadOnly", "Forbidden")]),
    ({"volumeMounts": mount()["volumeMounts"] * 2}, [("c.volumeMounts[1].mountPath", "Invalid")]),
    (device(), []),
    (device(name="e"), [("c.volumeDevices[0].name", "Invalid")]),
    (device(name="x"), [("c.volumeDevices[0].name", "NotFound")]),
    (device(devicePath="/a/.."), [("c.volumeDevices[0].devicePath", "Invalid")]),
    (
        mount(name="p", mountPath="/m") | device(),
        [("c.volumeMounts[0].name", "Invalid"), ("c.volumeDevices[0].name", "Invalid")],
    ),
]


@pytest.mark.parametrize(("container", "wrong"), CASES)
def test_mounts(fields: Any, container: Document, wrong: list[Any]) -> None:
    assert fields(volume_mounts.of_container(container, "c", VOLUMES)) == wrong
