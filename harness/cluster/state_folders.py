"""Where this user's clusters are remembered between commands: the XDG state folder, or a temporary one where there is no home."""

import functools
import os
import pathlib
import tempfile

from harness import errors


def folder() -> pathlib.Path:
    """The folder; it is there, and nobody else can read it."""
    return _made(os.environ.get("XDG_STATE_HOME"))


@functools.cache
def _made(state: str | None) -> pathlib.Path:
    candidates = [pathlib.Path(state)] if state else []
    for base in (
        *candidates,
        *_home(),
        pathlib.Path(tempfile.gettempdir(), f"state-{os.getuid()}"),
    ):
        path = base / "flake-hunt"
        try:
            path.mkdir(parents=True, mode=0o700, exist_ok=True)
        except OSError:
            continue  # a container's read-only or missing home
        if os.access(path, os.W_OK):
            return path
    raise errors.HarnessError(
        f"expected a folder that can be written, not even {tempfile.gettempdir()} can: export XDG_STATE_HOME=FOLDER"
    )


def _home() -> list[pathlib.Path]:
    try:
        return [pathlib.Path.home() / ".local" / "state"]
    except RuntimeError:
        return []
