"""Recovery: read a data directory when a server starts."""

import contextlib
import dataclasses
import os
import pathlib
from collections.abc import Iterator

from harness import errors
from harness.apiserver.persistence import checksummed_lines, data_directories
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache

_REMEDY = "restore the file from a copy, or start with an empty directory (nothing was changed)"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredState:
    """The contents of a data directory, and the state of its newest log."""

    past: watch_cache.Past
    log_version: int
    """The version at which the newest log begins."""
    version: int
    """The resourceVersion of the newest commit."""
    checksum: int
    """The checksum of the last record of the newest log."""
    cut_bytes: int
    """Size of the torn record that was cut off the newest log; 0 if there was none."""


def load(directory: data_directories.DataDirectory) -> RecoveredState | None:
    """Return all acknowledged commits that are kept, None for a new directory.

    A torn record at the end of the newest log is cut off. Raises DataDirectoryError, with file and
    offset, for a damaged directory.
    """
    directory.remove_unfinished()
    logs, snapshots = directory.logs(), directory.snapshots()
    if snapshots and (not logs or logs[-1] < snapshots[-1]):
        raise errors.DataDirectoryError(
            f"expected {directory.log(snapshots[-1])}, but it is missing: {_REMEDY}"
        )
    if not logs:
        return None
    first = _first_generation(directory, logs)
    objects = list(_objects(directory, first)) if first else []
    past: list[watch_cache.Change] = []
    version = first
    for log in [version for version in logs if version >= first]:
        newest = log == logs[-1]
        _require_continuity(directory.log(log), log, version)
        found, reader = _changes(directory.log(log), log, may_be_torn=newest)
        past += found
        version = past[-1].object.resource_version if past else version
    cut_bytes = _cut(directory.log(logs[-1]), reader.end)
    return RecoveredState(
        past=watch_cache.Past(version=first, objects=objects, changes=past),
        log_version=logs[-1],
        version=version,
        checksum=reader.checksum,
        cut_bytes=cut_bytes,
    )


def _first_generation(directory: data_directories.DataDirectory, logs: list[int]) -> int:
    """Return the oldest version with a log and, unless it is 0, a snapshot."""
    if logs[0] == 0:
        return 0
    for version in directory.snapshots():
        if version in logs:
            return version
    raise errors.DataDirectoryError(
        f"expected a snapshot for one of the logs in {directory.path}, but there is none: "
        "files of it were removed; start with an empty directory"
    )


def _require_continuity(path: pathlib.Path, begins: int, version: int) -> None:
    if begins != version:
        raise errors.DataDirectoryError(
            f"expected the commits up to {begins} before {path}, but they end at {version}: {_REMEDY}"
        )


def _objects(
    directory: data_directories.DataDirectory, version: int
) -> Iterator[tuple[resources.ResourceType, stored_objects.Stored]]:
    """Yield the objects of a snapshot. Raises DataDirectoryError if it is not whole."""
    with _reading(directory.snapshot(version)) as reader:
        for count, payload in enumerate(_after_begin(reader, version)):
            if payload == checksummed_lines.end(count):
                return
            change = checksummed_lines.read(payload)
            yield change.resource, change.object
        raise checksummed_lines.DamagedRecordError("it has no end")


def _changes(
    path: pathlib.Path, begins: int, *, may_be_torn: bool
) -> tuple[list[watch_cache.Change], checksummed_lines.LineReader]:
    with _reading(path) as reader:
        found = [checksummed_lines.read(payload) for payload in _after_begin(reader, begins)]
        if reader.torn and not may_be_torn:
            raise checksummed_lines.DamagedRecordError("it was cut off, and there is a newer log")
    return found, reader


def _after_begin(reader: checksummed_lines.LineReader, version: int) -> Iterator[bytes]:
    payloads = iter(reader)
    checksummed_lines.read_begin(next(payloads, b""), version)
    return payloads


@contextlib.contextmanager
def _reading(path: pathlib.Path) -> Iterator[checksummed_lines.LineReader]:
    with path.open("rb") as file:
        reader = checksummed_lines.LineReader(file)
        try:
            yield reader
        except (
            checksummed_lines.DamagedRecordError,
            checksummed_lines.UnreadablePayloadError,
        ) as error:
            raise errors.DataDirectoryError(
                f"{path} is damaged at byte {reader.begin}: {error}; {_REMEDY}"
            ) from error


def _cut(path: pathlib.Path, end: int) -> int:
    """Truncate a log at the end of its last whole record and return how many bytes that cut."""
    cut_bytes = path.stat().st_size - end
    if cut_bytes:
        os.truncate(path, end)
    return cut_bytes
