"""Reads a journal: a file of records with a header and a trailer.

A torn last line is tolerated and noted; so is a last zstd frame without an end. Any other damage
raises an error that names file and line.
"""

import functools
import io
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from harness import errors
from harness.history import files, records, zstd_frames

LINE_MAX = 64 * 2**20
"""Longest accepted line, in bytes with its end; an API object has at most a few MiB."""

BUFFER = 2**16
"""Bytes that are read at once: few enough for the processor's cache."""

TRAILER_MAX = 4096
"""Longest trailer, in bytes."""

Decode: TypeAlias = Callable[[bytes], Any]
DecodeLines: TypeAlias = Callable[[Sequence[bytes]], Iterable[Any]]
NO_RECORD = files.DECODING
_decoder: msgspec.json.Decoder[records.Record] = msgspec.json.Decoder(records.Record)
_ENDS = frozenset({records.Header, records.Trailer})
decode_record = _decoder.decode
"""Return the record of a line.

Raises msgspec.DecodeError, UnicodeDecodeError or RecursionError if it is none.
"""


class Reader:
    """Iterates over the records between header and trailer in constant memory.

    The attributes are complete after the iteration. Iterating raises HistoryError, which names
    file and line, for any damage except a torn last line.
    """

    def __init__(self, path: pathlib.Path, *, decode: DecodeLines | None = None) -> None:
        """`decode` makes records of lines; None: with `decode_record`."""
        self.path = path
        self._decode = decode or functools.partial(map, decode_record)
        self.header: records.Header | None = None
        """None if not even the first line is complete."""
        self.trailer: records.Trailer | None = None
        """None if the writer was not closed."""
        self.torn = False
        """True if the last line was cut short; of a compressed journal, the last frame."""
        self.records: list[records.Body] = []
        """All records, once `gathered` has read them."""
        self.line = 0
        """Number of the line that was read last."""
        self._count, self._is_body = 0, False
        """Number of records so far; header and no trailer have been read."""

    def gathered(self) -> "Reader":
        self.records = list(self)
        return self

    def __iter__(self) -> Iterator[Any]:
        for block in self.blocks():
            begin = self.line - len(block)
            for self.line, record in enumerate(block, begin + 1):
                yield record

    def blocks(self) -> Iterator[Sequence[Any]]:
        """Yield the records as they are read, many at once; `line` is that of the last one."""
        self._count, self._is_body = 0, False
        with opened(self.path) as file:
            for lines in self._lines(file):
                try:
                    found = list(self._decode(lines))
                except Exception:  # noqa: BLE001 - those before the bad line come first
                    found = []
                if found and self._is_body and _ENDS.isdisjoint(map(type, found)):
                    self.line += len(found)
                    self._count += len(found)
                    yield found
                else:
                    yield from self._one_by_one(lines)

    def _one_by_one(self, lines: Iterable[bytes]) -> Iterator[Sequence[Any]]:
        for line in lines:
            self.line += 1
            try:
                [record] = self._decode([line])
            except NO_RECORD as error:
                what = f"expected a complete record, got {line[:60]!r} ({error})"
                raise self._damage(self.line, what) from error
            if type(record) is records.Header:
                self._accept_header(record, self.line)
                self._is_body = True
            elif type(record) is records.Trailer:
                self._accept_trailer(record, self.line, self._count)
                self._is_body = False
            else:
                if not self._is_body:
                    self._require_order(self.line)
                self._count += 1
                yield [record]

    def _lines(self, file: io.BufferedReader) -> Iterator[list[bytes]]:
        """Yield the complete lines of each block, none of an empty one.

        Note if the last is torn.
        """
        self.line, begun = 0, bytearray()
        for block in self._blocks(file):
            lines = io.BytesIO(block).readlines()  # finds ends faster than `split`
            begun += b"".join(lines[:1])
            if len(begun) > LINE_MAX:
                self.line += 1
                raise self._damage(self.line, f"expected a line of at most {LINE_MAX} bytes")
            if begun.endswith(b"\n"):
                lines[0] = bytes(begun)
                begun = bytearray() if lines[-1].endswith(b"\n") else bytearray(lines.pop())
                yield lines
            elif not block:
                yield []
        if begun:
            self.line += 1
            self.torn = True

    def _blocks(self, file: io.BufferedReader) -> Iterator[bytes]:
        """Yield the content as it comes; `read` would lose what is before the error."""
        try:
            while block := file.read1(BUFFER):
                yield block
        except EOFError:
            self.torn = True
        except zstd_frames.FrameError as error:
            raise self._damage(self.line + 1, str(error)) from error

    def _accept_header(self, header: records.Header, number: int) -> None:
        if number != 1:
            raise self._damage(number, "a second header: two writers shared the file")
        if header.schema != records.SCHEMA_VERSION:
            raise self._damage(
                number,
                f"expected schema {records.SCHEMA_VERSION}, got {header.schema}: read it with "
                "the version of Flake Hunt that wrote it",
            )
        self.header = header

    def _accept_trailer(self, trailer: records.Trailer, number: int, count: int) -> None:
        self._require_order(number)
        if trailer.count != count:
            raise self._damage(
                number, f"the trailer counts {trailer.count} records, the file has {count}"
            )
        self.trailer = trailer

    def _require_order(self, number: int) -> None:
        if self.header is None:
            raise self._damage(number, "expected the header first")
        if self.trailer is not None:
            raise self._damage(number, "a record after the trailer")

    def _damage(self, number: int, what: str) -> errors.HistoryError:
        return errors.HistoryError(
            f"{self.path.name}, line {number}: {what}. "
            "The journal is damaged; restore the file or run again"
        )


class Tail(Reader):
    """Yields the records of one journal as they come, in constant memory.

    A last line that is not whole yet waits for the next look; so does a zstd block. The file may
    not exist yet.
    """

    damage = ""
    """Why the rest is not read, with file and line; empty: nothing was damaged so far."""
    _coming: Iterator[Any] | None = None
    """The records; None stands for the end of what has come so far."""

    @property
    def is_closed(self) -> bool:
        return self.trailer is not None

    @property
    def is_lost(self) -> bool:
        """True if the file vanished before anything was read: its compressed form is another."""
        return self._coming is None and not self.path.exists()

    def new(self) -> Iterator[Any]:
        """Yield the records between header and trailer that have come; none after damage.

        The caller may stop at any of them, and goes on there the next time.
        """
        if self._coming is None and self.path.exists():
            self._coming = iter(self)
        try:
            while self._coming and not (self.damage or self.is_closed):
                if (record := next(self._coming, None)) is None:
                    return
                yield record
        except (errors.HistoryError, OSError) as error:
            self.damage = str(error)

    def close(self) -> None:
        if self._coming is not None:
            self._coming.close()  # type: ignore[attr-defined]

    def _blocks(self, file: io.BufferedReader) -> Iterator[bytes]:
        """Yield the content as it comes, nothing where no more has come."""
        while True:
            try:
                yield from super()._blocks(file)
            finally:
                self.torn = False
            yield b""

    def _one_by_one(self, lines: Iterable[bytes]) -> Iterator[Sequence[Any]]:
        yield from super()._one_by_one(lines) if lines else [[None]]


def read(path: pathlib.Path) -> Reader:
    """Read a whole journal.

    Raises HistoryError, which names file and line, for any damage except a torn last line.
    """
    return Reader(path).gathered()


def opened(path: pathlib.Path) -> io.BufferedReader:
    """Open a journal, decompressed. Raises HistoryError if it is not a regular file."""
    file = files.open_regular(path, buffer=BUFFER)
    if path.suffix == zstd_frames.SUFFIX:
        return zstd_frames.decompressing(file, buffer=BUFFER)
    return file


def last_trailer(path: pathlib.Path) -> records.Trailer | None:
    """Return the trailer by reading only the end of the file; None if it does not end with one.

    Raises HistoryError if it is not a regular file.
    """
    with files.open_regular(path) as file:
        file.seek(max(os.fstat(file.fileno()).st_size - TRAILER_MAX, 0))
        end = file.read()
    if path.suffix == zstd_frames.SUFFIX:
        end = zstd_frames.last_frame(end, limit=TRAILER_MAX)
    *_, last = end.splitlines() or [b""]
    try:
        found = _decoder.decode(last)
    except NO_RECORD:
        return None
    return found if isinstance(found, records.Trailer) else None
