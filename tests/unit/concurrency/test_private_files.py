"""Keys for libraries that read from files only."""

import os
import pathlib
import sys
import tempfile

import pytest

from harness import writing


def test_the_content_is_there_for_the_block() -> None:
    with writing.private_file(b"key") as path:
        assert pathlib.Path(path).read_bytes() == b"key"
        assert pathlib.Path(path).read_bytes() == b"key", "from its beginning, each time"
    assert not pathlib.Path(path).exists()


@pytest.mark.skipif(sys.platform != "linux", reason="memory files are Linux's")
def test_nothing_is_on_a_disk(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with writing.private_file(b"key"):
        assert list(tmp_path.iterdir()) == []


def test_elsewhere_it_is_a_file_that_goes(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with writing.private_file(b"key") as path:
        assert pathlib.Path(path).read_bytes() == b"key"
        assert pathlib.Path(path).stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_of_a_file_that_cannot_be_written(tmp_path: pathlib.Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        writing.write_whole(tmp_path / "folder", b"token")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
