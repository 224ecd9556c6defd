"""The state folder: the user's own, and one in a shared folder only when it is the user's alone."""

import os
import pathlib
import tempfile

import pytest

from harness import errors
from harness.cluster import state_folder


@pytest.fixture(autouse=True)
def places(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home that is a file, so that what comes after it is reached."""
    (tmp_path / "home").touch()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    state_folder._made.cache_clear()


def test_the_variable_names_it(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    assert state_folder.folder() == tmp_path / "mine" / "flake-hunt"
    assert state_folder.folder().stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("unusable", ["{}/home", "relative", "/proc/none"])
def test_another_one_is_used(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, unusable: str
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", unusable.format(tmp_path))
    used = state_folder.folder()
    assert used == tmp_path / "tmp" / f"flake-hunt-state-{os.getuid()}"
    assert used.stat().st_mode & 0o777 == 0o700
    state_folder._made.cache_clear()
    assert state_folder.folder() == used, "its own of before is trusted"


def test_what_another_user_has_put_there_is_refused(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = os.getuid()
    (tmp_path / "tmp" / f"flake-hunt-state-{me + 1}").mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    with pytest.raises(
        errors.UsageError, match=f"expected a folder of user {me + 1}.*export XDG_STATE_HOME"
    ):
        state_folder.folder()
