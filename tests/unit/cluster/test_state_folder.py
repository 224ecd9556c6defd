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


def test_the_variable_names_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "mine"))
    assert state_folder.folder() == tmp_path / "mine" / "flake-hunt"
    assert state_folder.folder().stat().st_mode & 0o777 == 0o700
    assert caplog.messages == []


@pytest.mark.parametrize("unusable", ["{}/file", "relative", "/proc/none"])
def test_another_one_is_named(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    unusable: str,
) -> None:
    (tmp_path / "file").touch()
    asked = unusable.format(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", asked)
    used = tmp_path / ".local" / "state" / "flake-hunt"
    assert state_folder.folder() == used
    (message,) = caplog.messages
    assert f"state is stored in {used} ({asked}/flake-hunt: " in message
    assert os.environ["XDG_STATE_HOME"] == str(used.parent), "what is started takes the same"


def test_without_a_home_it_is_in_the_temporary_folder_for_this_user_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    used = state_folder.folder()
    assert used.parent == state_folder.shared_base()
    assert [path.stat().st_mode & 0o777 for path in (used, used.parent)] == [0o700, 0o700]
    assert str(used) in caplog.text
    state_folder._made.cache_clear()
    assert state_folder.folder() == used, "its own of before is trusted"


def test_what_another_user_has_put_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    state_folder.shared_base().mkdir(mode=0o700)
    me = os.getuid()
    monkeypatch.setattr(
        state_folder,
        "shared_base",
        lambda base=state_folder.shared_base(): base,  # noqa: B008 - of this user
    )
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    with pytest.raises(errors.UsageError, match=f"expected a directory of user {me + 1} with mode"):
        state_folder.folder()


def test_what_others_can_read_is_refused() -> None:
    state_folder.shared_base().mkdir(mode=0o700)
    state_folder.shared_base().chmod(0o755)
    with pytest.raises(errors.UsageError, match=r"got drwxr-xr-x of user .*export XDG_STATE_HOME"):
        state_folder.folder()
