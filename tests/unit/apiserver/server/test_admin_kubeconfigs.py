"""Kubeconfigs of the server: written whole, or not at all and without a trace of the token."""

import json
import os
import pathlib

import pytest

from harness import errors
from harness.apiserver.server import identities

ADDRESS = "127.0.0.1:1"


def test_it_names_the_server_and_the_token(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "new" / "config"
    identities.write(path, ADDRESS, "token")
    document = json.loads(path.read_text())
    assert document["clusters"][0]["cluster"] == {"server": "http://127.0.0.1:1"}
    assert document["users"][0]["user"] == {"token": "token"}
    assert [item.name for item in path.parent.iterdir()] == ["config"]


def test_nothing_is_left_where_a_folder_is(tmp_path: pathlib.Path) -> None:
    (tmp_path / "config").mkdir()
    with pytest.raises(errors.UnwritableError, match=r"cannot write .*/config: is a directory"):
        identities.write(tmp_path / "config", ADDRESS, "token")
    assert [item.name for item in tmp_path.rglob("*")] == ["config"]


def test_nothing_is_left_on_a_full_disk(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fdopen(descriptor: int, mode: str) -> None:
        os.close(descriptor)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fdopen", fdopen)
    with pytest.raises(errors.StorageError, match=r"cannot write .*/config: no space left"):
        identities.write(tmp_path / "config", ADDRESS, "token")
    assert list(tmp_path.iterdir()) == []
