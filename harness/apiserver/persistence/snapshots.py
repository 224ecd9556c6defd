"""Snapshots: every object at one version, so that the log before it can be deleted.

A new log begins first; the snapshot of the version at which it begins is then written in the
background, in small steps. Until it is complete, recovery uses the older generation.
"""

import asyncio
import os
import pathlib
from collections.abc import Iterator, Sequence
from io import FileIO

from harness.apiserver.persistence import checksummed_lines, commit_log, data_directories
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects

Tables = Sequence[tuple[resources.ResourceType, Sequence[stored_objects.Stored]]]
STEP_OBJECTS = 50
"""Objects to encode at a time, which takes well below a millisecond."""
_WRITE_BYTES = 1024 * 1024
"""Bytes to write at a time, in another thread because disks may be slow."""


async def write_snapshot(
    directory: data_directories.DataDirectory, version: int, tables: Tables
) -> None:
    """Write the snapshot of these objects at a version. Raises OSError."""
    path = directory.snapshot(version)
    unfinished = path.with_suffix(data_directories.UNFINISHED)
    gathered: list[bytes] = []
    gathered_bytes = 0
    with open(unfinished, "wb", buffering=0, opener=_open_private) as file:
        for lines in _lines(version, tables):
            gathered += lines
            gathered_bytes += sum(map(len, lines))
            if gathered_bytes > _WRITE_BYTES:
                await asyncio.to_thread(_write, file, gathered)
                gathered, gathered_bytes = [], 0
            else:
                await asyncio.sleep(0)
        await asyncio.to_thread(_write, file, gathered)
        await asyncio.to_thread(os.fsync, file.fileno())
    unfinished.rename(path)
    await asyncio.to_thread(directory.sync)


def _open_private(path: str, flags: int) -> int:
    """Open a file with mode 0600, because objects may be secrets."""
    return os.open(path, flags, 0o600)


def _lines(version: int, tables: Tables) -> Iterator[list[bytes]]:
    """Yield the lines of a snapshot in groups."""
    encoder, count = checksummed_lines.LineEncoder(), 0
    yield [encoder.line(checksummed_lines.begin(version))]
    for resource, objects in tables:
        for index in range(0, len(objects), STEP_OBJECTS):
            step = objects[index : index + STEP_OBJECTS]
            count += len(step)
            yield [
                encoder.line(checksummed_lines.write(resource, "ADDED", stored)) for stored in step
            ]
    yield [encoder.line(checksummed_lines.end(count))]


def _write(file: FileIO, lines: list[bytes]) -> None:
    commit_log.write_all(file.fileno(), b"".join(lines), path=pathlib.Path(str(file.name)))
