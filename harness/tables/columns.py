"""Rows as columns of their types: the DataFrames of a run."""

import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from harness import errors
from harness.history import directories
from harness.tables import definitions, reading

if TYPE_CHECKING:  # commands that read no table would wait for it
    import pandas as pd


class Tables(Mapping[str, "pd.DataFrame"]):
    """The tables of a run by their names, each read when it is asked for: `tables.holds`.

    Raises UsageError for a journal that is damaged.
    """

    def __init__(self, path: pathlib.Path) -> None:
        """Raises RunDirectoryError if the path is not a run directory."""
        self._run = directories.existing(path)
        self._frames: dict[str, pd.DataFrame] = {}

    @classmethod
    def from_evidence(cls, evidence: Any) -> "Tables":
        """Return the tables of the run that a check judges, which names this type in its needs."""
        return cls(evidence.history.directory.path)

    def __getitem__(self, name: str) -> "pd.DataFrame":
        """Return a table. Raises UsageError for a name that is none."""
        if name not in definitions.TABLES:
            raise errors.UsageError(
                f"expected one of the tables {', '.join(definitions.TABLES)}, got {name}"
            )
        if name not in self._frames:
            self._frames |= _frames(self._run, reading.beside(name))
        return self._frames[name]

    def __getattr__(self, name: str) -> "pd.DataFrame":
        """Return a table. Raises AttributeError for a name that is none."""
        try:
            return self[name]
        except errors.UsageError as error:
            raise AttributeError(str(error)) from error

    def __iter__(self) -> Iterator[str]:
        return iter(definitions.TABLES)

    def __len__(self) -> int:
        return len(definitions.TABLES)

    def __dir__(self) -> list[str]:
        """Return the names of the tables, too: notebooks complete them."""
        return [*super().__dir__(), *definitions.TABLES]


def _frames(run: directories.RunDirectory, names: Sequence[str]) -> "dict[str, pd.DataFrame]":
    parts: dict[str, reading.Rows] = {name: [] for name in names}
    for table, rows in reading.read(run, names):
        parts[table.name] += rows
    return {name: frame(definitions.TABLES[name], rows) for name, rows in parts.items()}


def frame(table: definitions.Table, rows: reading.Rows) -> "pd.DataFrame":
    """Return rows of a table as columns of their types."""
    import pandas as pd

    values = zip(*rows, strict=True) if rows else ((),) * len(table.columns)
    return pd.DataFrame(
        {
            column.name: pd.Series(content, dtype=column.dtype)
            for column, content in zip(table.columns, values, strict=True)
        }
    )
