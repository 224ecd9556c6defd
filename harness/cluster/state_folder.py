"""The folder in which a user's clusters are recorded between commands.

It is the XDG state folder, or a temporary folder if there is no usable home, as in some containers.
"""

import contextlib
import functools
import os
import pathlib
import tempfile

from harness import errors

VARIABLE = "XDG_STATE_HOME"
_NAME = "flake-hunt"


def folder() -> pathlib.Path:
    """Return the state folder, which exists. Raises UsageError if no folder can be used."""
    return _made(os.environ.get(VARIABLE))


@functools.cache
def _made(state: str | None) -> pathlib.Path:
    problems, candidates = [], [pathlib.Path(state, _NAME)] if state else []
    with contextlib.suppress(RuntimeError):  # neither HOME nor an entry in the user database
        candidates.append(pathlib.Path.home() / ".local" / "state" / _NAME)
    candidates.append(pathlib.Path(tempfile.gettempdir(), f"{_NAME}-state-{os.getuid()}"))
    for path in candidates:
        try:
            _make(path)
        except OSError as error:
            problems.append(f"{path}: {error.strerror or error}")
        else:
            return path
    raise errors.UsageError(
        f"expected a writable state folder ({'; '.join(problems)}): export {VARIABLE}=FOLDER"
    )


def _make(path: pathlib.Path) -> None:
    """Make the folder. Raises OSError unless it is this user's: anyone may make one in /tmp."""
    if not path.is_absolute():
        raise OSError("expected an absolute path")
    path.mkdir(parents=True, mode=0o700, exist_ok=True)
    if path.lstat().st_uid != os.getuid():
        raise PermissionError(f"expected a folder of user {os.getuid()}: remove it")
    if not os.access(path, os.W_OK | os.X_OK):
        raise PermissionError("not writable")
