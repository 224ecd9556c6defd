"""Checks that output files can be written, before the server starts and leaves some of them."""

import os
import pathlib

from harness import errors


def require(option: str, path: pathlib.Path | None) -> None:
    """Raise UnwritableError for a path at which no file can be written; `option` is its option."""
    if path is None:
        return
    if path.is_dir():
        raise errors.UnwritableError(
            f"expected a file for {option}, but {path} is a folder: name a file in it"
        )
    folder = _nearest(path.parent)
    if not folder.is_dir():
        raise errors.UnwritableError(
            f"expected a file for {option}, got {path}, but {folder} is a file"
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise errors.UnwritableError(
            f"expected to write {option} to {path}, but the folder {folder} cannot be written: "
            "name another file, or change the mode of the folder"
        )


def _nearest(folder: pathlib.Path) -> pathlib.Path:
    """Return the folder, or its nearest parent that exists."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder
