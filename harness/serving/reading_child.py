"""`python -m harness.serving.reading_child`: reads journals for the server, and ends.

The server asks by one JSON document on stdin, and reads the answer from stdout. Its memory is
given back, whatever was read, and it can be ended at any moment. On a failure it prints a sentence
on stderr, and ends with its exit code.
"""

import csv
import dataclasses
import heapq
import itertools
import os
import pathlib
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from harness import bound_processes, errors
from harness.history import directories, journal_reader
from harness.tables import database, definitions, reading

CELL_MAX = 1_000
"""Most characters of a cell of a page; files have all of them."""
_Row: TypeAlias = Sequence[Any]


class AskTable(msgspec.Struct, frozen=True, kw_only=True, tag="table"):
    """Asks for one page of a table of a run."""

    parent: int
    """The process that asks: this one ends with it."""
    run: str
    table: str
    sort: str = ""
    """Name of a column; empty: the order of the record."""
    descending: bool = False
    text: str = ""
    """A text that a row must contain in any of its cells, in lower case."""
    first: int = 0
    """Number of the first row, from 0."""
    size: int


class AskQuery(msgspec.Struct, frozen=True, kw_only=True, tag="query"):
    """Asks for what a SELECT finds in some runs."""

    parent: int
    runs: list[str]
    statement: str
    rows_max: int
    """Most rows of an answer as JSON."""
    as_csv: bool = False
    """All rows, as a file."""


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """An answer for a page."""

    columns: list[str]
    rows: list[list[Any]]
    count: int
    """Rows that there are, of which some are here; of a query whose rows are too many, one more
    than are here."""
    begun_ns: int = 0
    """When the run began, on the clock of its record; 0: it is not known."""


def main() -> int:
    """Answer the document on stdin; return the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the server, too
    ask = msgspec.json.decode(sys.stdin.buffer.read(), type=AskTable | AskQuery)
    bound_processes.die_with(ask.parent)
    try:
        if isinstance(ask, AskTable):
            _write(_table(ask))
        elif ask.as_csv:
            _write_csv(ask)
        else:
            _write(_query(ask))
    except errors.HarnessError as error:
        sys.stderr.write(f"{error}\n")
        return type(error).exit_code
    except BrokenPipeError:  # the browser has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _write(rows: Rows) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(rows))
    sys.stdout.buffer.flush()


def _table(ask: AskTable) -> Rows:
    """Return a page of a table; memory grows with the number of its last row only.

    Raises UsageError for a journal that is damaged, and RunDirectoryError.
    """
    run = directories.existing(pathlib.Path(ask.run))
    table = definitions.TABLES[ask.table]
    found = _Counted(_with_text(_rows_of(run, table), ask.text))
    rows = _sorted(found, table, ask)
    found.finish()
    return Rows(
        columns=table.names[1:],
        rows=[[_cell(value) for value in row] for row in rows[ask.first : ask.first + ask.size]],
        count=found.count,
        begun_ns=_begun_ns(run),
    )


def _rows_of(run: directories.RunDirectory, table: definitions.Table) -> Iterator[_Row]:
    """Yield the rows of a table, without the run."""
    for _, part in reading.read(run, [table.name]):
        yield from (row[1:] for row in part)


def _with_text(rows: Iterator[_Row], text: str) -> Iterator[_Row]:
    if not text:
        return rows
    return (row for row in rows if any(text in str(cell).lower() for cell in row))


@dataclasses.dataclass(slots=True)
class _Counted:
    """Rows that are counted on their way."""

    rows: Iterator[_Row]
    count: int = 0

    def __iter__(self) -> Iterator[_Row]:
        for row in self.rows:
            self.count += 1
            yield row

    def finish(self) -> None:
        """Count the rest."""
        self.count += sum(1 for _ in self.rows)


def _sorted(rows: _Counted, table: definitions.Table, ask: AskTable) -> list[_Row]:
    """Return the rows in their order up to the last one that is asked for."""
    last = ask.first + ask.size
    if not ask.sort:
        return list(itertools.islice(rows, last))
    place = table.names.index(ask.sort) - 1
    if ask.descending:
        return heapq.nlargest(last, rows, key=_key(place, is_none_last=False))
    return heapq.nsmallest(last, rows, key=_key(place, is_none_last=True))


def _key(place: int, *, is_none_last: bool) -> Callable[[_Row], tuple[bool, Any]]:
    """Return the key of a row by one of its cells; None comes last in either order."""

    def key(row: _Row) -> tuple[bool, Any]:
        value = row[place]
        return (value is None) is is_none_last, 0 if value is None else value

    return key


def _begun_ns(run: directories.RunDirectory) -> int:
    """Return when the first process of a run started; 0: it is not known."""
    try:
        for record in journal_reader.Reader(run.processes):
            return int(getattr(record, "ts_ns", 0))
    except (errors.HistoryError, msgspec.DecodeError, UnicodeDecodeError, OSError):
        pass
    return 0


def _query(ask: AskQuery) -> Rows:
    runs = _paths(ask.runs)
    with database.answered(runs, ask.statement) as found:
        rows = [
            [_cell(value) for value in row]
            for row in itertools.islice(found.rows, ask.rows_max + 1)
        ]
    return Rows(
        columns=found.columns,
        rows=rows[: ask.rows_max],
        count=len(rows),
    )


def _paths(runs: Sequence[str]) -> list[pathlib.Path]:
    if not runs:
        raise errors.UsageError("expected runs that can be read, but the filters leave none")
    return [pathlib.Path(run) for run in runs]


def _write_csv(ask: AskQuery) -> None:
    with database.answered(_paths(ask.runs), ask.statement) as found:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(found.columns)
        writer.writerows(found.rows)
        sys.stdout.flush()


def _cell(value: Any) -> Any:
    """Return a value as a page shows it: numbers as they are, other values as short texts."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return text if len(text) <= CELL_MAX else f"{text[: CELL_MAX - 1]}…"


if __name__ == "__main__":
    sys.exit(main())
