"""The database of nights: one SQLite file with a version of its schema."""

import contextlib
import os
import pathlib
import sqlite3
from collections.abc import Iterator

import msgspec

from harness import errors, regular_files, writing
from harness.comparison.trends.night_series import Night, NightRun

SCHEMA_VERSION = 1
APPLICATION_ID = 0x464C4E54
"""Marks the file as ours, in SQLite's header."""
_HEADER = b"SQLite format 3\x00"
_TABLES = """
CREATE TABLE nights (
    id INTEGER PRIMARY KEY,
    identity TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL,
    started TEXT NOT NULL,
    cluster TEXT NOT NULL,
    seed INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    exit_code INTEGER NOT NULL,
    summary TEXT NOT NULL,
    commit_id TEXT NOT NULL,
    versions TEXT NOT NULL
) STRICT;
CREATE TABLE runs (
    night INTEGER NOT NULL REFERENCES nights (id) ON DELETE CASCADE,
    scenario TEXT NOT NULL,
    subject TEXT NOT NULL,
    purpose TEXT NOT NULL,
    verdict TEXT NOT NULL,
    seconds REAL NOT NULL,
    violations INTEGER NOT NULL,
    load TEXT NOT NULL,
    allocations_per_s REAL,
    claim_p50_ms REAL,
    claim_p99_ms REAL,
    pod_p50_ms REAL,
    pod_p99_ms REAL,
    detected_s REAL
) STRICT;
CREATE INDEX runs_of_night ON runs (night);
CREATE VIEW rates AS
SELECT started, cluster, scenario, subject, purpose, count(*) AS runs,
    sum(runs.verdict = 'INVALID') AS invalid,
    sum(runs.verdict IN ('VALID', 'INVALID')) AS conclusive
FROM runs JOIN nights ON nights.id = runs.night
GROUP BY nights.id, scenario, subject, purpose;
"""
_NIGHT = (
    "identity", "digest", "started", "cluster", "seed", "verdict", "exit_code", "summary",
    "commit_id", "versions",
)  # fmt: skip
_RUN = NightRun.__struct_fields__


class Added(msgspec.Struct, frozen=True):
    """The outcome of adding a night; neither: it was there."""

    is_new: bool
    is_replaced: bool
    """The same campaign was there with other results."""


class Database:
    """An open database of nights."""

    def __init__(self, connection: sqlite3.Connection, path: pathlib.Path) -> None:
        self._connection, self._path = connection, path

    def add(self, night: Night) -> Added:
        """Add a night whole or not at all; the same one again changes nothing.

        Raises UsageError, StorageError or UnwritableError if the database cannot be written.
        """
        with _explained(self._path), self._connection as writing_all:
            row = writing_all.execute(
                "SELECT digest FROM nights WHERE identity = ?", (night.identity,)
            ).fetchone()
            if row is not None and row[0] == night.digest:
                return Added(is_new=False, is_replaced=False)
            writing_all.execute("DELETE FROM nights WHERE identity = ?", (night.identity,))
            self._insert(night)
        return Added(is_new=row is None, is_replaced=row is not None)

    def _insert(self, night: Night) -> None:
        values = [
            night.identity, night.digest, night.started, night.cluster, night.seed, night.verdict,
            night.exit_code, night.summary, night.commit,
            msgspec.json.encode(night.versions).decode(),
        ]  # fmt: skip
        added = self._connection.execute(_insertion("nights", _NIGHT), values)
        self._connection.executemany(
            _insertion("runs", ("night", *_RUN)),
            ([added.lastrowid, *(getattr(run, name) for name in _RUN)] for run in night.runs),
        )

    def nights(self) -> list[Night]:
        """Return all nights with their runs, the oldest first.

        Raises UsageError if a row cannot be used.
        """
        with _explained(self._path):
            order = "ORDER BY started, id"
            named = f"SELECT id, {', '.join(_NIGHT)} FROM nights {order}"  # noqa: S608 - our own names
            heads = self._connection.execute(named).fetchall()
            runs: dict[int, list[NightRun]] = {head[0]: [] for head in heads}
            columns = ", ".join(_RUN)
            for night, *values in self._connection.execute(
                f"SELECT night, {columns} FROM runs ORDER BY rowid"  # noqa: S608
            ):
                runs[night].append(msgspec.convert(dict(zip(_RUN, values, strict=True)), NightRun))
            return [_night(values, runs[number]) for number, *values in heads]


def _night(values: list[object], runs: list[NightRun]) -> Night:
    fields = dict(zip(_NIGHT, values, strict=True))
    fields["commit"] = fields.pop("commit_id")
    fields["versions"] = msgspec.json.decode(str(fields["versions"]))
    return msgspec.convert({**fields, "runs": runs}, Night, from_attributes=True)


def _insertion(table: str, columns: tuple[str, ...]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"  # noqa: S608 - our own names


@contextlib.contextmanager
def opened(path: pathlib.Path, *, is_new_allowed: bool = False) -> Iterator[Database]:
    """Open a database; make one if there is none and that is allowed.

    Raises UsageError if it is missing, damaged, no database of nights, or of a newer version.
    """
    is_new = not os.path.lexists(path) or (path.is_file() and not path.stat().st_size)
    if is_new and not is_new_allowed:
        raise errors.UsageError(
            f"expected a database of nights, but {path} is missing or empty: make it with "
            "flake-hunt trends add"
        )
    if not is_new:
        _require_database(path)
    with _explained(path), contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        if is_new:
            _create(connection)
        _require_usable(connection, path)
        yield Database(connection, path)


def _create(connection: sqlite3.Connection) -> None:
    marks = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"
    connection.executescript(f"BEGIN; {_TABLES} {marks} COMMIT;")


def _require_database(path: pathlib.Path) -> None:
    try:
        with regular_files.opened(path) as file:
            found = file.read(len(_HEADER))
    except OSError as error:
        raise errors.UsageError(
            f"expected a database of nights, but {path} cannot be read "
            f"({(error.strerror or str(error)).lower()}): name another file"
        ) from error
    if found != _HEADER:
        raise errors.UsageError(_foreign(path))


def _foreign(path: pathlib.Path) -> str:
    return (
        f"expected a database of nights, but {path} is another kind of file: name one that "
        "flake-hunt trends add made, or a new one"
    )


def _require_usable(connection: sqlite3.Connection, path: pathlib.Path) -> None:
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise errors.UsageError(_foreign(path))
    version = _pragma(connection, "user_version")
    if version != SCHEMA_VERSION:
        raise errors.UsageError(
            f"expected a database of nights with schema {SCHEMA_VERSION}, but {path} has "
            f"{version}: use the version of Flake Hunt that wrote it, or a newer one"
        )
    if (found := _pragma(connection, "quick_check")) != "ok":
        raise errors.UsageError(_damaged(path, str(found)))


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def _damaged(path: pathlib.Path, why: str) -> str:
    line = " ".join(why.split())[:200]
    return (
        f"expected a whole database of nights, but {path} is damaged ({line}): bring back a copy, "
        "or add the campaigns to a new one"
    )


@contextlib.contextmanager
def _explained(path: pathlib.Path) -> Iterator[None]:
    """Raise an error of the harness, in one sentence, for what SQLite raises."""
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "disk is full" in text or "disk I/O" in text:
            raise errors.StorageError(f"cannot write {path}: {text}; free some space") from error
        if "unable to open" in text or "readonly" in text:
            raise errors.UnwritableError(
                f"cannot write {path}: {text}; name a place that can be written"
            ) from error
        if "locked" in text:
            raise errors.UsageError(
                f"expected {path} to be free, but another process writes it: try again later"
            ) from error
        raise errors.UsageError(_damaged(path, text)) from error
    except (sqlite3.DatabaseError, msgspec.DecodeError, KeyError) as error:
        raise errors.UsageError(_damaged(path, str(error))) from error
    except OSError as error:
        raise writing.explain(error, path) from error
