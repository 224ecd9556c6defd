"""Lines of a log or snapshot: `<checksum> <length> <payload>`; checksums cover all earlier lines.

A file that was cut off at any byte ends in a *torn* line: it has no newline and is shorter than its
length field says, or is followed only by zeros (after a power failure). Any other mismatch is
damage: a changed byte, or a line that is missing or was moved.
"""

import zlib
from collections.abc import Iterator
from typing import BinaryIO

import msgspec

from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache

_NUMBERS_BYTES_MAX = 8 + 1 + 16 + 1
"""Maximum size of the checksum, the length, and the spaces after them."""


class DamagedRecordError(Exception):
    """A line that is neither whole nor torn."""


class LineEncoder:
    """Encodes the lines of one file; `checksum` is that of the lines already written."""

    def __init__(self, checksum: int = 0) -> None:
        self._checksum = checksum

    def line(self, payload: bytes) -> bytes:
        """Return the next line of the file."""
        self._checksum = zlib.crc32(payload, self._checksum)
        return b"%08x %x %b\n" % (self._checksum, len(payload), payload)


class LineReader:
    """Reads the lines of one file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.begin = 0
        """Offset of the newest line in bytes."""
        self.end = 0
        """Offset of the end of the last whole line in bytes."""
        self.checksum = 0
        """Checksum of the last whole line."""
        self.torn = False
        """True if the last whole line is followed by a torn one."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the payloads. Raises DamagedRecordError where the file is damaged."""
        for line in self._file:
            self.begin = self.end
            payload = self._payload(line)
            if payload is None:
                self.torn = True
                return
            self.end += len(line)
            yield payload

    def _payload(self, line: bytes) -> bytes | None:
        """Return the payload of a whole line, None for a torn one."""
        if not line.endswith(b"\n"):
            if _is_torn(line):
                return None
            raise DamagedRecordError("its checksum does not fit")
        checksum, _, rest = line.partition(b" ")
        length, _, payload = rest[:-1].partition(b" ")
        self.checksum = zlib.crc32(payload, self.checksum)
        if checksum != b"%08x" % self.checksum or length != b"%x" % len(payload):
            raise DamagedRecordError("its checksum does not fit")
        return payload


def _is_torn(line: bytes) -> bool:
    """Return whether a line without newline is the start of a whole one, perhaps plus zeros."""
    written = line.rstrip(b"\0")
    numbers = written.split(b" ", 2)
    if len(numbers) < 3:
        return len(written) <= _NUMBERS_BYTES_MAX
    try:
        missing = int(numbers[1], 16) + 1 - len(numbers[2])
    except ValueError:
        return False
    return missing > (len(line) > len(written))  # a written newline does not become zero


FORMAT = 1
BEGIN, END = b"B", b"E"
_LETTERS: dict[watch_cache.EventType, bytes] = {"ADDED": b"A", "MODIFIED": b"M", "DELETED": b"D"}
_TYPES = {letter: kind for kind, letter in _LETTERS.items()}
_NAMES = {resources.table_of(item): item.qualified.encode() for item in reversed(resources.STORED)}
_RESOURCES = {name: item for item, name in _NAMES.items()}


class UnreadablePayloadError(Exception):
    """A payload that this version cannot decode."""


def begin(version: int) -> bytes:
    """Return the first payload of a file: its format, and the version at which it begins."""
    return b"%b %d %d" % (BEGIN, FORMAT, version)


def read_begin(payload: bytes, version: int) -> None:
    """Raise UnreadablePayloadError unless this is the first payload of a file of this version."""
    if payload != begin(version):
        wanted = begin(version).decode()
        raise UnreadablePayloadError(f"expected it to begin with {wanted!r}, got {payload[:40]!r}")


def end(count: int) -> bytes:
    """Return the last payload of a snapshot: the number of its objects."""
    return b"%b %d" % (END, count)


def write(
    resource: resources.ResourceType, kind: watch_cache.EventType, stored: stored_objects.Stored
) -> bytes:
    """Return the payload of a change."""
    return b"%b %b %b" % (_LETTERS[kind], _NAMES[resource], stored.data)


def read(payload: bytes) -> watch_cache.Change:
    """Decode the payload of a change. Raises UnreadablePayloadError."""
    letter, _, rest = payload.partition(b" ")
    name, _, data = rest.partition(b" ")
    try:
        return watch_cache.Change(_RESOURCES[name], _TYPES[letter], stored_objects.revive(data))
    except KeyError as error:
        raise UnreadablePayloadError(
            f"this version does not know the kind of record {letter!r} or the resource {name!r}"
        ) from error
    except (msgspec.DecodeError, ValueError) as error:
        raise UnreadablePayloadError(f"expected an object, but: {error}") from error
