"""Snapshots: the log begins anew, so that neither it nor a restart grows for ever.

A new log begins at once; the snapshot of the moment at which it begins is written beside the work in small steps. Until it is
whole the older generation is what counts.
"""

import asyncio
import os
import pathlib
from collections.abc import Iterator, Sequence
from io import FileIO

from harness.apiserver.persistence import (
    checksummed_lines,
    commit_log,
    data_directories,
    record_payloads,
)
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects

Tables = Sequence[tuple[resources.ResourceType, Sequence[stored_objects.Stored]]]
STEP_OBJECTS = 50
"""Encoded at a time: well below a millisecond."""
_WRITE_BYTES = 1024 * 1024
"""Written at a time, by another thread: a disk may take its time."""


async def write_snapshot(
    directory: data_directories.DataDirectory, version: int, tables: Tables
) -> None:
    """Write every object as it was at a version; OSError when it cannot be written."""
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
    """Open for the user alone: objects may be secrets."""
    return os.open(path, flags, 0o600)


def _lines(version: int, tables: Tables) -> Iterator[list[bytes]]:
    """The lines of a snapshot, some at a time."""
    encoder, count = checksummed_lines.LineEncoder(), 0
    yield [encoder.line(record_payloads.begin(version))]
    for resource, objects in tables:
        for index in range(0, len(objects), STEP_OBJECTS):
            step = objects[index : index + STEP_OBJECTS]
            count += len(step)
            yield [
                encoder.line(record_payloads.write(resource, "ADDED", stored)) for stored in step
            ]
    yield [encoder.line(record_payloads.end(count))]


def _write(file: FileIO, lines: list[bytes]) -> None:
    commit_log.write_all(file.fileno(), b"".join(lines), path=pathlib.Path(str(file.name)))
