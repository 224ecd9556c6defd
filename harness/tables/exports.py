"""Exports: folders with a Parquet file for each table, and a file that says of which runs."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import msgspec

from harness import errors
from harness.history import directories, files
from harness.tables import definitions

NAME = "export.json"
"""The file of an export that is written last."""
SCHEMA = 2
"""Exports of the first version are read, too; some tables and columns are missing in them."""


class Contents(msgspec.Struct, frozen=True, kw_only=True, rename={"schema_version": "schema"}):
    """`export.json`."""

    schema_version: int = SCHEMA
    version: str
    """Version of Flake Hunt that wrote it."""
    runs: list[str]
    """The run directories, as the column `run` names them."""


@dataclasses.dataclass(frozen=True, slots=True)
class Export:
    """A folder that `flake-hunt export` has written."""

    path: Path
    """Absolute."""
    runs: list[str]
    schema: int

    def has(self, table: str) -> bool:
        """Return whether an export of its version has a table."""
        return self.schema > 1 or table not in definitions.SINCE_SECOND

    def file(self, table: str) -> Path:
        """Return the Parquet file of a table."""
        return file_of(self.path, table)


def file_of(folder: Path, table: str) -> Path:
    """Return the Parquet file of a table in an export."""
    return folder / f"{table}.parquet"


def text(value: object) -> str:
    """Return a value as a text of SQL."""
    return "'" + str(value).replace("'", "''") + "'"


def exactly(path: Path) -> str:
    """Return the path as a pattern of DuckDB that matches this file alone."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in str(path))


def divided(paths: Iterable[Path]) -> tuple[list[Export], list[directories.RunDirectory]]:
    """Return the exports and the run directories among paths.

    Raises UsageError for an export that cannot be read and for a run that is there twice, and
    RunDirectoryError if a path is neither.
    """
    exported, runs = [], []
    for path in paths:
        if (path / NAME).is_file():
            exported.append(_read(path))
        else:
            runs.append(directories.existing(path))
    names = [str(run.path) for run in runs]
    names += [run for export in exported for run in export.runs]
    twice = next((name for name in names if names.count(name) > 1), None) if exported else None
    if twice is not None:
        raise errors.UsageError(
            f"expected each run once, but {twice} is in several of the folders: name one of them"
        )
    return exported, runs


def _read(path: Path) -> Export:
    try:
        contents = msgspec.json.decode(files.read_small(path / NAME), type=Contents)
    except (msgspec.DecodeError, UnicodeDecodeError, errors.HistoryError) as error:
        raise errors.UsageError(
            f"expected an export in {path}, but {NAME} cannot be read ({error}): write it again "
            "with `flake-hunt export`"
        ) from error
    if not 1 <= contents.schema_version <= SCHEMA:
        raise errors.UsageError(
            f"expected an export of version {SCHEMA}, but {path} has version "
            f"{contents.schema_version}: write it again with `flake-hunt export`"
        )
    found = Export(path.resolve(), contents.runs, contents.schema_version)
    for table in definitions.TABLES:
        if found.has(table) and not found.file(table).is_file():
            raise errors.UsageError(
                f"expected a whole export, but {file_of(path, table)} is missing: write it "
                "again with `flake-hunt export`"
            )
    return found
