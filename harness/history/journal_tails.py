"""Reads a journal while it is written: what has come since the last look, whole lines only."""

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from harness import errors
from harness.history import journal_reader


class Tail(journal_reader.Reader):
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
