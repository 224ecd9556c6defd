"""Volumes of pods, with projected ones."""

from typing import Any

import pytest

from harness.apiserver.validation.pod import volumes

Document = dict[str, Any]
EMPTY: Document = {"name": "e", "emptyDir": {}}
TOKEN = {"serviceAccountToken": {"path": "t", "expirationSeconds": 600}}
KEY = {"key": "k", "path": "a"}
CASES = [
    ([EMPTY, {"name": "h", "hostPath": {"path": "/x", "type": "Socket"}}], []),
    ([{"name": "v"}], [("v[0]", "Required")]),
    ([{"emptyDir": {}}], [("v[0].name", "Required")]),
    ([EMPTY, EMPTY], [("v[1].name", "Duplicate")]),
    ([{"name": "V", "emptyDir": {}}], [("v[0].name", "Invalid")]),
    ([EMPTY | {"hostPath": {"path": "/"}}], [("v[0].hostPath", "Forbidden")]),
    ([{"name": "e", "emptyDir": {"sizeLimit": "-1"}}], [("v[0].emptyDir.sizeLimit", "Forbidden")]),
    ([{"name": "h", "hostPath": {"path": "/a/../b"}}], [("v[0].hostPath.path", "Invalid")]),
    (
        [{"name": "h", "hostPath": {"path": "/", "type": "x"}}],
        [("v[0].hostPath.type", "NotSupported")],
    ),
    ([{"name": "n", "nfs": {"server": "s", "path": "p"}}], [("v[0].nfs.path", "Invalid")]),
    (
        [{"name": "p", "persistentVolumeClaim": {}}],
        [("v[0].persistentVolumeClaim.claimName", "Required")],
    ),
    ([{"name": "c", "csi": {"driver": "d_"}}], [("v[0].csi.driver", "Invalid")]),
    ([{"name": "c", "csi": {"driver": "d" * 64}}], [("v[0].csi.driver", "TooLong")]),
    (
        [{"name": "g", "gitRepo": {"repository": "r", "directory": "/d"}}],
        [("v[0].gitRepo.directory", "Invalid")],
    ),
    (
        [{"name": "s", "secret": {"secretName": "s", "defaultMode": 0o1000}}],
        [("v[0].secret.defaultMode", "Invalid")],
    ),
    (
        [
            {
                "name": "m",
                "configMap": {"name": "m", "items": [{"key": "k", "path": "..x", "mode": -1}]},
            }
        ],
        [("v[0].configMap.items[0].path", "Invalid"), ("v[0].configMap.items[0].mode", "Invalid")],
    ),
    (
        [{"name": "d", "downwardAPI": {"items": [{"path": "p"}]}}],
        [("v[0].downwardAPI", "Required")],
    ),
    (
        [
            {
                "name": "p",
                "projected": {"sources": [TOKEN, {"secret": {"name": "s", "items": [KEY]}}]},
            }
        ],
        [],
    ),
    (
        [{"name": "p", "projected": {"sources": [{"secret": {"name": "s", "items": [KEY, KEY]}}]}}],
        [("v[0].projected", "Invalid")],
    ),
    (
        [{"name": "p", "projected": {"sources": [TOKEN | {"configMap": {"name": "m"}}]}}],
        [("v[0].projected.sources[0]", "Forbidden")],
    ),
    (
        [
            {
                "name": "p",
                "projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 1}}]},
            }
        ],
        [
            ("v[0].projected.sources[0].serviceAccountToken.expirationSeconds", "Invalid"),
            ("v[0].projected.path", "Required"),
        ],
    ),
]


@pytest.mark.parametrize(("found", "wrong"), CASES)
def test_volumes(fields: Any, found: list[Document], wrong: list[Any]) -> None:
    assert fields(volumes.all_volumes(found, "v")) == wrong


def test_only_right_volumes_are_known() -> None:
    assert list(volumes.valid_by_name([EMPTY, {"name": "v"}])) == ["e"]
