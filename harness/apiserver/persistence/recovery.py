"""What a data directory holds, read back when a server starts."""

import contextlib
import dataclasses
import os
import pathlib
from collections.abc import Iterator

from harness import errors
from harness.apiserver import resources, storing, watching
from harness.apiserver.persistence import changes, directories, records

_REMEDY = "restore the file from a copy, or start with an empty directory (nothing was changed)"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A past, and where its log goes on."""

    past: watching.Past
    log_version: int
    """Where the newest log begins."""
    version: int
    """Of the newest commit."""
    checksum: int
    """That of its last record."""
    cut_bytes: int
    """Of the torn record that was cut off its end."""


def load(directory: directories.DataDirectory) -> Loaded | None:
    """Everything that was acknowledged, None for a new directory; DataDirectoryError, which says where, for a damaged one."""
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
    past: list[watching.Change] = []
    version = first
    for log in [version for version in logs if version >= first]:
        newest = log == logs[-1]
        _require_continuity(directory.log(log), log, version)
        found, reader = _changes(directory.log(log), log, may_be_torn=newest)
        past += found
        version = past[-1].object.resource_version if past else version
    cut_bytes = _cut(directory.log(logs[-1]), reader.end)
    return Loaded(
        past=watching.Past(version=first, objects=objects, changes=past),
        log_version=logs[-1],
        version=version,
        checksum=reader.checksum,
        cut_bytes=cut_bytes,
    )


def _first_generation(directory: directories.DataDirectory, logs: list[int]) -> int:
    """The oldest version that everything after it is there for; 0 needs no snapshot."""
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
    directory: directories.DataDirectory, version: int
) -> Iterator[tuple[resources.ResourceType, storing.Stored]]:
    """The objects of a snapshot, which is whole or of no use."""
    with _reading(directory.snapshot(version)) as reader:
        for count, payload in enumerate(_after_begin(reader, version)):
            if payload == changes.end(count):
                return
            change = changes.read(payload)
            yield change.resource, change.object
        raise records.DamagedRecordError("it has no end")


def _changes(
    path: pathlib.Path, begins: int, *, may_be_torn: bool
) -> tuple[list[watching.Change], records.Reader]:
    """The commits of a log, and the reader that stands at their end."""
    with _reading(path) as reader:
        found = [changes.read(payload) for payload in _after_begin(reader, begins)]
        if reader.torn and not may_be_torn:
            raise records.DamagedRecordError("it was cut off, and there is a newer log")
    return found, reader


def _after_begin(reader: records.Reader, version: int) -> Iterator[bytes]:
    payloads = iter(reader)
    changes.read_begin(next(payloads, b""), version)
    return payloads


@contextlib.contextmanager
def _reading(path: pathlib.Path) -> Iterator[records.Reader]:
    with path.open("rb") as file:
        reader = records.Reader(file)
        try:
            yield reader
        except (records.DamagedRecordError, changes.UnreadablePayloadError) as error:
            raise errors.DataDirectoryError(
                f"{path} is damaged at byte {reader.begin}: {error}; {_REMEDY}"
            ) from error


def _cut(path: pathlib.Path, end: int) -> int:
    """Cut a torn record off, so that the log goes on where it was whole."""
    cut_bytes = path.stat().st_size - end
    if cut_bytes:
        os.truncate(path, end)
    return cut_bytes
