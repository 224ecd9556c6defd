"""Reads the parts of an audit log: plain or compressed, rotated, cut short, with foreign lines.

A damaged part raises no error: what can be read is read, and the damage is noted.
"""

import gzip
import io
import pathlib
import re
import zlib
from collections.abc import Iterator, Sequence
from typing import IO

from harness import errors
from harness.checks.witness import audit_events
from harness.history import files, zstd_frames

LINE_MAX = 64 * 2**20
"""Longest accepted line, in bytes: request and response of a few MiB each."""
KEPT_MAX = 5
"""Number of notes about damage that are kept as text."""
_BEGINNING = b'{"kind":"Event"'
"""How an API server begins each line; after a torn line the next one follows in the same line."""
_GZIP = b"\x1f\x8b"
_STAMP = re.compile(r"-\d{4}-\d\d-\d\dT")


class AuditReader:
    """Iterates over the events of all parts; the other attributes are complete afterwards."""

    def __init__(self, paths: Sequence[pathlib.Path]) -> None:
        self._paths = sorted(paths, key=_age)
        self.events = 0
        """Number of events that were read."""
        self.size_bytes = 0
        """Number of bytes that were read, uncompressed."""
        self.damaged = 0
        """Number of damaged lines and parts."""
        self.notes: list[str] = []
        """The first of them as text, with file and line."""

    def __iter__(self) -> Iterator[audit_events.Event]:
        for path in self._paths:
            try:
                with files.open_regular(path) as file:
                    yield from self._read(path.name, _plain(file))
            except errors.HistoryError as error:
                self._note(str(error))
            except (OSError, EOFError, zlib.error) as error:
                self._note(f"{path.name}: cannot be read to its end ({error})")

    def _read(self, name: str, file: IO[bytes]) -> Iterator[audit_events.Event]:
        number = 0
        while line := file.readline(LINE_MAX + 1):
            number += 1
            self.size_bytes += len(line)
            if len(line) > LINE_MAX:
                self._note(f"{name}, line {number}: longer than {LINE_MAX} bytes")
                return
            event = self._decode(line, f"{name}, line {number}")
            if event is not None:
                self.events += 1
                yield event

    def _decode(self, line: bytes, where: str) -> audit_events.Event | None:
        try:
            return audit_events.decode(line)
        except audit_events.NoEventError as error:
            if line.strip():
                self._note(f"{where}: {error}")
        begun = line.rfind(_BEGINNING)
        if begun <= 0:
            return None
        try:
            return audit_events.decode(line[begun:])
        except audit_events.NoEventError:
            return None

    def _note(self, text: str) -> None:
        self.damaged += 1
        if len(self.notes) < KEPT_MAX:
            self.notes.append(text)


def _plain(file: io.BufferedReader) -> IO[bytes]:
    begins = file.peek(len(zstd_frames.MAGIC))
    if begins.startswith(_GZIP):
        return io.BufferedReader(gzip.GzipFile(fileobj=file))
    if begins.startswith(zstd_frames.MAGIC):
        return zstd_frames.decompressing(file)
    return file


def _age(path: pathlib.Path) -> tuple[str, bool, str]:
    """Sort the parts of one log by age: `audit-<time>.log` were rotated away from `audit.log`."""
    stem = path.name.partition(".")[0]
    stamp = _STAMP.search(stem)
    return str(path.parent), stamp is None, path.name
