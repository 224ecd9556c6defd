"""CDI files as container runtimes read them."""

import json
import pathlib
from typing import Any

import pytest

from harness.conformance.drivers import cdi_specs

EDITS = {"env": ["A=b"], "deviceNodes": [{"path": "/dev/null", "type": "c"}]}
GOOD: dict[str, Any] = {
    "cdiVersion": "0.6.0",
    "kind": "vendor.example/class",
    "devices": [{"name": "d-1", "containerEdits": EDITS}],
}


def faults(**changes: Any) -> list[str]:
    return list(cdi_specs.faults(json.dumps({**GOOD, **changes}).encode()))


def device(**edits: Any) -> list[dict[str, Any]]:
    return [{"name": "d", "containerEdits": edits}]


def test_a_good_file_has_no_fault() -> None:
    assert faults() == []
    assert faults(cdiVersion="1.0.0", annotations={"a.example/b": "c"}) == []
    text = "cdiVersion: 0.3.0\nkind: v.example/c\ndevices: [{name: d, containerEdits: {env: [A=]}}]"
    assert list(cdi_specs.faults(text.encode())) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"cdiVersion": "7"}, "cdiVersion"),
        ({"kind": "no-class"}, "vendor/class"),
        ({"kind": "vendor/cl.ass"}, "vendor/class"),
        ({"devices": []}, "at least one device"),
        ({"devices": [{"name": "-", "containerEdits": EDITS}]}, "a name of letters"),
        ({"devices": [{"name": "d"}]}, "no containerEdits"),
        ({"devices": device(env=[])}, "no containerEdits"),
        ({"devices": device(env=["=b"])}, "NAME=VALUE"),
        ({"devices": device(deviceNodes=[{"path": "/dev/a", "type": "x"}])}, "type b, c, u or p"),
        ({"devices": device(mounts=[{"hostPath": "/a"}])}, "containerPath"),
        ({"devices": device(hooks=[{"hookName": "later", "path": "/a"}])}, "hookName"),
        ({"devices": device(devicenodes=[1])}, "unknown key 'devicenodes'"),
        ({"more": 1}, "unknown key 'more'"),
    ],
)
def test_a_fault_is_told(changes: dict[str, Any], words: str) -> None:
    (fault,) = faults(**changes)
    assert words in fault


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"a: b: c"])
def test_what_is_no_document_is_a_fault(content: bytes) -> None:
    assert list(cdi_specs.faults(content)) == ["expected an object in JSON or YAML"]


@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        ("vendor.example/class=name", True),
        ("v/c=a-b_c.d:e", True),
        ("vendor.example/class", False),
        ("vendor.example=name", False),
        ("vendor/class=name/", False),
        ("1v/c=n", False),
    ],
)
def test_ids_are_qualified(text: str, is_good: bool) -> None:
    assert cdi_specs.is_qualified(text) is is_good


def test_definitions_name_their_files(tmp_path: pathlib.Path) -> None:
    for name in ("a.json", "b.json", "c.txt"):
        (tmp_path / name).write_text(json.dumps(GOOD))
    found = cdi_specs.definitions(cdi_specs.files(tmp_path))
    assert found == {"vendor.example/class=d-1": [tmp_path / "a.json", tmp_path / "b.json"]}
