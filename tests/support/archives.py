"""Unpacks our own archives in all releases of Python: before 3.11.4 there are no filters."""

import pathlib
import tarfile


def unpack(archive: pathlib.Path, folder: pathlib.Path) -> None:
    with tarfile.open(archive) as opened:
        opened.extraction_filter = getattr(tarfile, "data_filter", None)
        opened.extractall(folder)
