"""Audit logs of API servers on this machine."""

import pathlib
import shutil

from harness import regular_files, writing

NAME = "audit.log"
RESOURCES = ("resourceclaims", "pods")
"""Plural names of the resources on which the comparison with the observations rests."""


def save(log: pathlib.Path, into: pathlib.Path, *, after: int) -> None:
    """Copy what was logged after a position to a folder; with it all parts that were rotated away.

    Does nothing if there is no log. Raises StorageError or UnwritableError if it cannot be copied.
    """
    rotated = [path for path in log.parent.glob(f"{log.stem}-*.log*") if path.is_file()]
    if not log.is_file():
        return
    with writing.explained(into):
        into.mkdir(exist_ok=True)
        for path in rotated:
            shutil.copyfile(path, into / path.name)
        with regular_files.opened(log) as source, (into / NAME).open("wb") as target:
            source.seek(0 if rotated else after)
            shutil.copyfileobj(source, target, 1 << 20)


def remove(log: pathlib.Path) -> None:
    for path in (log, *log.parent.glob(f"{log.stem}-*.log*")):
        path.unlink(missing_ok=True)
