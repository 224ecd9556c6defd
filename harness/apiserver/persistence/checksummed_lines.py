"""The lines of a log or a snapshot: `<checksum> <length> <payload>`, each checksum covering all lines before it as well.

A file that was cut off anywhere ends in a *torn* line: one without its newline that is shorter than its length says, or has nothing
but zeros after that (as after a loss of power). Anything else that does not fit is damage: a changed byte, a line that
is missing or was moved.
"""

import zlib
from collections.abc import Iterator
from typing import BinaryIO

_NUMBERS_BYTES_MAX = 8 + 1 + 16 + 1
"""The checksum, the length and the spaces after them."""


class DamagedRecordError(Exception):
    """A line that is neither whole nor torn."""


class LineEncoder:
    """Makes the lines of one file, beginning after those with this checksum."""

    def __init__(self, checksum: int = 0) -> None:
        self._checksum = checksum

    def line(self, payload: bytes) -> bytes:
        """The next line."""
        self._checksum = zlib.crc32(payload, self._checksum)
        return b"%08x %x %b\n" % (self._checksum, len(payload), payload)


class LineReader:
    """Reads the lines of one file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.begin = 0
        """Where the newest line begins."""
        self.end = 0
        """Where the last whole line ends."""
        self.checksum = 0
        """That of the last whole line."""
        self.torn = False
        """Whether a torn line came after them."""

    def __iter__(self) -> Iterator[bytes]:
        """The payloads; DamagedRecordError where the file is damaged."""
        for line in self._file:
            self.begin = self.end
            payload = self._payload(line)
            if payload is None:
                self.torn = True
                return
            self.end += len(line)
            yield payload

    def _payload(self, line: bytes) -> bytes | None:
        """The payload of a whole line, None for a torn one."""
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
    """Whether a line without a newline is the beginning of a whole one, with or without zeros after it."""
    written = line.rstrip(b"\0")
    numbers = written.split(b" ", 2)
    if len(numbers) < 3:
        return len(written) <= _NUMBERS_BYTES_MAX
    try:
        missing = int(numbers[1], 16) + 1 - len(numbers[2])
    except ValueError:
        return False
    return missing > (len(line) > len(written))  # a newline does not turn into a zero by itself
