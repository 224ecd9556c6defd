"""The folder in which a user's clusters are recorded between commands.

It is the XDG state folder, or a temporary folder if there is no usable home.
"""

import contextlib
import functools
import logging
import os
import pathlib
import stat
import tempfile
from collections.abc import Iterator

from harness import errors

VARIABLE = "XDG_STATE_HOME"
_NAME = "flake-hunt"
_log = logging.getLogger(__name__)


def folder() -> pathlib.Path:
    """Return the state folder, which exists and only this user can read.

    Raises UsageError if no folder can be used.
    """
    return _made(os.environ.get(VARIABLE))


@functools.cache
def _made(state: str | None) -> pathlib.Path:
    """Return the first usable folder and log why those before it could not be used."""
    problems = []
    for base in _bases(state):
        path = base / _NAME
        try:
            if base == shared_base():
                _make_own(base)
            _make(path)
        except OSError as error:  # a container's read-only or missing home
            problems.append(f"{path}: {error.strerror or error}")
            continue
        if problems:
            os.environ[VARIABLE] = str(base)  # for child processes
            _log.warning("flake-hunt: state is stored in %s (%s)", path, "; ".join(problems))
        return path
    raise errors.UsageError(
        f"expected a writable state folder ({'; '.join(problems)}): export {VARIABLE}=FOLDER"
    )


def _bases(state: str | None) -> Iterator[pathlib.Path]:
    if state:
        yield pathlib.Path(state)
    with contextlib.suppress(RuntimeError):  # neither HOME nor an entry in the user database
        yield pathlib.Path.home() / ".local" / "state"
    yield shared_base()


def shared_base() -> pathlib.Path:
    """Return the base of last resort.

    Its parent is writable for every user, so another user may have created it.
    """
    return pathlib.Path(tempfile.gettempdir(), f"state-{os.getuid()}")


def _make(path: pathlib.Path) -> None:
    """Create the folder. Raises OSError if it cannot be used."""
    if not path.is_absolute():
        raise OSError("expected an absolute path")
    path.mkdir(parents=True, mode=0o700, exist_ok=True)
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError(f"{path}: not writable")


def _make_own(path: pathlib.Path) -> None:
    """Create a folder in a shared one.

    Raises OSError if something exists there that is not a private directory of this user.
    """
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    status = path.lstat()
    if status.st_uid != os.getuid() or stat.filemode(status.st_mode) != "drwx------":
        raise PermissionError(
            f"expected a directory of user {os.getuid()} with mode 0700, got {stat.filemode(status.st_mode)} "
            f"of user {status.st_uid}: remove it"
        )
