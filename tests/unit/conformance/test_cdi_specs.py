"""CDI files as container runtimes read them."""

import json
import pathlib
from typing import Any

import pytest

from harness.conformance import cdi_specs
from tests.support import cases

EDITS = {"env": ["A=b"], "deviceNodes": [{"path": "/dev/null", "type": "c"}]}
GOOD: dict[str, Any] = {
    "cdiVersion": "0.6.0",
    "kind": "vendor.example/class",
    "devices": [{"name": "d-1", "containerEdits": EDITS}],
}


def fault(**changes: Any) -> str:
    return cdi_specs.fault(json.dumps({**GOOD, **changes}).encode())


def test_a_good_file_has_no_fault() -> None:
    assert fault() == ""
    assert fault(cdiVersion="1.0.0", annotations={"a.example/b": "c"}) == ""
    text = "cdiVersion: 0.3.0\nkind: v.example/c\ndevices: [{name: d, containerEdits: {env: [A=]}}]"
    assert cdi_specs.fault(text.encode()) == ""


@pytest.mark.parametrize(("changes", "words"), cases.read(__file__, "faults"))
def test_a_fault_is_told(changes: dict[str, Any], words: str) -> None:
    assert words in fault(**changes)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff\xfe", b"a: b: c"])
def test_what_is_no_document_is_a_fault(content: bytes) -> None:
    assert "missing required field" in cdi_specs.fault(content)


@pytest.mark.parametrize(("text", "is_good"), cases.read(__file__, "ids"))
def test_ids_are_qualified(text: str, is_good: bool) -> None:
    assert cdi_specs.is_qualified(text) is is_good


def test_definitions_name_their_files(tmp_path: pathlib.Path) -> None:
    for name in ("a.json", "b.json", "c.txt"):
        (tmp_path / name).write_text(json.dumps(GOOD))
    found = cdi_specs.definitions(cdi_specs.files(tmp_path))
    assert found == {"vendor.example/class=d-1": [tmp_path / "a.json", tmp_path / "b.json"]}
