"""Reads run directories into the rows of their tables, some thousand at once."""

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

from harness import errors, regular_files
from harness.checks.observed import folders, observations
from harness.history import directories, journal_reader, records
from harness.tables import definitions, observed_rows

Rows: TypeAlias = list[tuple[Any, ...]]
"""Rows of one table: the values of its columns."""
ROWS_AT_ONCE = 122_880
"""Rows of a table that are in memory at once; those of a row group of Parquet in DuckDB."""


def read(
    run: directories.RunDirectory, tables: Collection[str]
) -> Iterator[tuple[definitions.Table, Rows]]:
    """Yield the rows of these tables of a run, each a part of them at a time.

    Raises UsageError for a journal that is damaged, or is no file.
    """
    try:
        for name, rows in _read(run, tables):
            yield definitions.TABLES[name], [(str(run.path), *row) for row in rows]
    except (errors.HistoryError, observations.ObjectError) as error:
        raise errors.UsageError(
            f"expected whole journals in {run.path}, but one is damaged ({error}): "
            "`flake-hunt check` says more"
        ) from error


def beside(name: str) -> list[str]:
    """Return a table and those that are read with it from the same records."""
    return sorted(observed_rows.TABLES) if name in observed_rows.TABLES else [name]


def _read(run: directories.RunDirectory, tables: Collection[str]) -> Iterator[tuple[str, Rows]]:
    if not observed_rows.TABLES.isdisjoint(tables):
        for name, rows in _observed(run):
            if name in tables:
                yield name, rows
    if "runs" in tables:
        yield "runs", [_run(run)]
    if "operations" in tables:
        for path in run.all_operations():
            yield from _in_parts("operations", _operations(path, _process(path)))
    if "steps" in tables:
        for path in run.all_steps():
            yield from _in_parts("steps", _steps(path, _process(path)))
    if not {"faults", "fault_effects"}.isdisjoint(tables) and run.faults.exists():
        yield from _faults(run, tables)


def _in_parts(name: str, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[str, Rows]]:
    part: Rows = []
    for row in rows:
        part.append(row)
        if len(part) == ROWS_AT_ONCE:
            yield name, part
            part = []
    yield name, part


def _observed(run: directories.RunDirectory) -> Iterator[tuple[str, Rows]]:
    fold = observed_rows.ObservedRows()
    if run.observations.exists():
        journal = journal_reader.Reader(run.observations, decode=observations.decode_lines)
        folders.fold(journal, fold)
    for name, rows in fold.tables():
        yield from _in_parts(name, rows)


def _run(run: directories.RunDirectory) -> tuple[Any, ...]:
    plan, verdict = _document(run, "plan.json"), _document(run, "verdict.json")
    return (
        *(plan.get(key) for key in ("scenario", "subject", "defects", "seed", "created_wall_ns")),
        *(verdict.get(key) for key in ("verdict", "reason")),
    )


def _document(run: directories.RunDirectory, name: str) -> dict[str, Any]:
    """Return a JSON object of a run; empty if the file is missing or is none."""
    try:
        value = json.loads(regular_files.content(run.path / name))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _process(path: Any) -> str:
    return directories.journal_stem(path).partition("-")[2]


def _operations(path: Any, process: str) -> Iterator[tuple[Any, ...]]:
    open_calls: dict[int, records.Invocation] = {}
    for found in journal_reader.Reader(path):
        if isinstance(found, records.Invocation):
            open_calls[found.op] = found
        elif isinstance(found, records.Completion) and found.op in open_calls:
            ended = found.ts_ns, found.outcome, found.status, found.reason
            yield process, *_call(open_calls.pop(found.op)), *ended
    for call in open_calls.values():
        yield process, *_call(call), None, None, None, None


def _call(call: records.Invocation) -> tuple[Any, ...]:
    return call.op, call.user, call.verb, call.resource, call.namespace, call.name, call.ts_ns


def _steps(path: Any, process: str) -> Iterator[tuple[Any, ...]]:
    for step in journal_reader.Reader(path):
        if isinstance(step, records.Step):
            fields = msgspec.json.encode(step.fields).decode()
            yield process, step.seq, step.ts_ns, step.thread, step.name, fields


def _faults(run: directories.RunDirectory, tables: Collection[str]) -> Iterator[tuple[str, Rows]]:
    kinds: dict[str, type[Any]] = {
        "faults": records.FaultWindow,
        "fault_effects": records.FaultApplied,
    }
    found: dict[str, Rows] = {name: [] for name in kinds if name in tables}
    for record in journal_reader.Reader(run.faults):
        for name, rows in found.items():
            if isinstance(record, kinds[name]):
                fields = definitions.TABLES[name].names[1:]
                rows.append(tuple(getattr(record, field.replace("_ts_", "_")) for field in fields))
    yield from found.items()
