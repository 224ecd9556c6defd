"""Reads a journal while it is written: what has come since the last look, whole lines only."""

import collections
import io
import pathlib
from collections.abc import Iterator
from typing import Any

from harness import errors
from harness.history import journal_reader, records


class Tail:
    """Yields the records of one journal as they come, in constant memory.

    A last line that is not whole yet waits for the next look; so does a zstd block.
    """

    def __init__(self, path: pathlib.Path, *, decode: journal_reader.Decode | None = None) -> None:
        """The file may not exist yet. `decode`: see `journal_reader.Reader`."""
        self.path, self._decode = path, decode or journal_reader.decode_record
        self._file: io.BufferedReader | None = None
        self._begun = bytearray()
        """The part of the last line that has come."""
        self._lines: collections.deque[bytes] = collections.deque()
        """Whole lines that have come and are not seen yet."""
        self._line = 0
        self.header: records.Header | None = None
        """None until the first line has come."""
        self.is_closed = False
        """True if the writer has closed the file: nothing more comes."""
        self.damage = ""
        """Why the rest is not read, with file and line; empty: nothing was damaged so far."""

    @property
    def is_lost(self) -> bool:
        """True if the file vanished before anything was read: its compressed form is another."""
        return self._file is None and not (self.damage or self.header or self.path.exists())

    def new(self) -> Iterator[Any]:
        """Yield the records between header and trailer that have come; none after damage.

        The caller may stop at any of them, and goes on there the next time.
        """
        try:
            while self._lines or self._fill():
                line = self._lines.popleft()
                self._line += 1
                record = self._decode(line)
                if isinstance(record, records.Header):
                    self.header = record
                elif isinstance(record, records.Trailer):
                    self.is_closed = True
                else:
                    yield record
        except journal_reader.NO_RECORD as error:
            self._give_up(f"expected a complete record ({error})")
        except (errors.HistoryError, OSError) as error:
            self._give_up(str(error))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _give_up(self, why: str) -> None:
        self.damage = f"{self.path.name}, line {max(self._line, 1)}: {why}"
        self.close()

    def _fill(self) -> bool:
        """Read up to the end of some line; return whether there is one."""
        if self.damage or self.is_closed or not self._is_open():
            return False
        while not self._lines and (block := self._read()):
            first, *others = block.split(b"\n")
            self._begun += first
            if len(self._begun) > journal_reader.LINE_MAX:
                self._give_up(f"expected a line of at most {journal_reader.LINE_MAX} bytes")
                return False
            if others:
                self._lines.append(bytes(self._begun))
                self._begun = bytearray(others.pop())
                self._lines.extend(others)
        return bool(self._lines)

    def _is_open(self) -> bool:
        """Open the file, now that it may exist; return whether it is open."""
        if self._file is None and self.path.exists():
            self._file = journal_reader.opened(self.path)
        return self._file is not None

    def _read(self) -> bytes:
        """Return the next bytes; none if all that has come was read."""
        if self._file is None:
            return b""
        try:
            return self._file.read1(journal_reader.BUFFER)
        except EOFError:  # in the middle of a zstd frame: its writer goes on there
            return b""
