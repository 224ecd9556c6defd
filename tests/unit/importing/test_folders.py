"""A folder is written whole or not at all, and never over another one."""

import json
import pathlib

import pytest
import yaml

from harness import errors
from harness.importing import folders


def test_the_folder_appears_whole(tmp_path: pathlib.Path) -> None:
    with folders.drafted(tmp_path / "a" / "b") as draft:
        folders.write(draft, {"x": b"1"})
        assert not (tmp_path / "a" / "b").exists()
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "b", "x"]


def test_an_empty_folder_is_used(tmp_path: pathlib.Path) -> None:
    with folders.drafted(tmp_path) as draft:
        folders.write(draft, {"x": b"1"})
    assert (tmp_path / "x").read_bytes() == b"1"


def test_nothing_is_left_after_an_interruption(tmp_path: pathlib.Path) -> None:
    def broken() -> None:
        with folders.drafted(tmp_path / "a" / "b") as draft:
            folders.write(draft, {"x": b"1"})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken()
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_touched(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("mine")
    for taken, what in ((tmp_path, "has files"), (tmp_path / "file", "is a file")):
        with pytest.raises(errors.UsageError, match=what), folders.drafted(taken):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


def test_many_objects_are_a_list_in_json() -> None:
    objects = [
        {"kind": "Node", "metadata": {"name": f"n-{i}"}}
        for i in range(folders.YAML_OBJECTS_MAX + 1)
    ]
    [(few, text)] = folders.manifests("slices", objects[:2]).items()
    assert few == "slices.yaml"
    assert list(yaml.safe_load_all(text)) == objects[:2]
    [(many, text)] = folders.manifests("slices", objects).items()
    assert many == "slices.json"
    assert json.loads(text)["items"] == objects
