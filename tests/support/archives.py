"""Unpacks our own archives in all releases of Python: before 3.11.4 there are no filters."""

import pathlib
import tarfile
from typing import IO


def unpack(archive: pathlib.Path | IO[bytes], folder: pathlib.Path) -> None:
    """Unpack an archive, a path or an open file."""
    source = {"name": archive} if isinstance(archive, pathlib.Path) else {"fileobj": archive}
    with tarfile.open(**source) as opened:
        opened.extraction_filter = getattr(tarfile, "data_filter", None)
        opened.extractall(folder)
