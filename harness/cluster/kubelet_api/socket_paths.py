"""Paths of unix sockets: how long they may be, and which of them are free to serve on."""

import os
import pathlib
import socket
import stat

from harness import errors

LENGTH_MAX = 107
"""Bytes of a path: Linux has 108 for it, with a zero at the end."""
_ANSWER_S = 1.0


def require_short(path: pathlib.Path) -> None:
    """Raise UsageError if no socket can have this path."""
    length = len(os.fsencode(path.absolute()))
    if length > LENGTH_MAX:
        raise errors.UsageError(
            f"{path}: expected the path of a socket with at most {LENGTH_MAX} bytes, got {length}: "
            "name shorter folders"
        )


def require_free(path: pathlib.Path) -> None:
    """Make a path free to serve on: its folder exists, and a socket without a server is removed.

    Raises UsageError if the path is too long, something else is there, a process serves there,
    or the folder cannot be written.
    """
    require_short(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(path)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise errors.UsageError(
            f"{path}: expected a place for a socket ({why}): name another folder"
        ) from error
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise errors.UsageError(
            f"{path}: expected the right to make a socket in {path.parent}: name another folder"
        )


def is_served(path: pathlib.Path) -> bool:
    """Return whether a process takes connections at a socket. Raises OSError without the right."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_ANSWER_S)
        try:
            connection.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except TimeoutError:  # its queue is full
            return True
        return True


def remove(path: pathlib.Path, made: os.stat_result | None) -> None:
    """Remove a socket after its server has ended, unless another server has made one since."""
    try:
        found = path.lstat()
        if made is not None and (found.st_dev, found.st_ino) == (made.st_dev, made.st_ino):
            path.unlink()
    except OSError:
        return


def _remove_stale(path: pathlib.Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise errors.UsageError(
            f"{path}: expected a socket or nothing there, got something else: remove it"
        )
    if is_served(path):
        raise errors.UsageError(
            f"{path}: expected a socket that no process serves, but one does: "
            "stop it, or name another folder"
        )
    path.unlink()
