"""Reads run directories into the rows of their tables, some thousand at once."""

import json
from collections.abc import Collection, Iterable, Iterator
from typing import Any, TypeAlias

import msgspec

from harness import errors, regular_files
from harness.checks.holds import claim_events, hold_columns, hold_history
from harness.checks.observed import folders, observations, observed_claims
from harness.history import directories, journal_reader, records
from harness.tables import definitions

Row: TypeAlias = tuple[Any, ...]
Rows: TypeAlias = list[Row]
"""Rows of one table: the values of its columns."""
_OBSERVED = ("claims", "devices", "holds", "pods", "pool_devices")
"""Tables that are made of the observations."""
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
    return [*_OBSERVED] if name in _OBSERVED else [name]


def _read(run: directories.RunDirectory, tables: Collection[str]) -> Iterator[tuple[str, Rows]]:
    if not {*_OBSERVED}.isdisjoint(tables):
        for name, rows in _observed(run).items():
            if name in tables:
                yield from _in_parts(name, rows)
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


def _in_parts(name: str, rows: Iterable[Row]) -> Iterator[tuple[str, Rows]]:
    part: Rows = []
    for row in rows:
        part.append(row)
        if len(part) == ROWS_AT_ONCE:
            yield name, part
            part = []
    yield name, part


# ------------------------------------------------------------------------- observations


def _observed(run: directories.RunDirectory) -> dict[str, Iterable[Row]]:
    history, results, slices = hold_history.HoldHistory(), _Results(), _DeclaredDevices()
    if run.observations.exists():
        journal = journal_reader.Reader(run.observations, decode=observations.decode_lines)
        folders.fold(journal, history, results, slices)
    return {
        "claims": map(_claim, history.claims.values()),
        "devices": slices.shareable.items(),
        "holds": map(results.row_of, history.holds),
        "pods": map(_pod, history.pods.values()),
        "pool_devices": slices.rows(),
    }


def _claim(life: claim_events.Life) -> Row:
    ready, gone = (life.ready_rv, life.ready_ns), (life.gone_rv, life.gone_ns)
    return life.uid, life.namespace, life.name, life.seen_rv, life.seen_ns, *ready, *gone


def _pod(life: claim_events.Life) -> Row:
    names = life.uid, life.namespace, life.name, life.node or None
    return *names, life.seen_rv, life.seen_ns, life.ready_ns, life.gone_rv, life.gone_ns


class _Results(folders.Folder):
    """The newest allocation of each claim, with the version that it began with."""

    def __init__(self) -> None:
        self._now: dict[str, list[observed_claims.AllocationResult]] = {}
        self._since: dict[tuple[str, int], list[observed_claims.AllocationResult]] = {}

    def see_claim(self, seen: observations.SeenClaim) -> None:
        uid, results = seen.object.metadata.uid, seen.object.results
        if seen.is_gone:
            self._now.pop(uid, None)
        elif self._now.get(uid) != results:
            self._now[uid] = self._since[uid, seen.version] = results

    def row_of(self, hold: hold_columns.Hold) -> Row:
        results = self._since.get((hold.uid, hold.from_rv), ())
        found = [result for result in results if result.id == hold.device]
        texts = (
            [result.request for result in found],
            [result.share or "" for result in found],
            [
                json.dumps(dict(one.written), separators=(",", ":"))
                for one in hold.shares
                if one.written
            ],
        )
        joined = (",".join(filter(None, parts)) or None for parts in texts)
        kind = "exclusive" if hold.exclusive else "share" if hold.shared else "admin"
        names = hold.device, hold.uid, hold.namespace, hold.name, kind
        return *names, hold.from_rv, hold.until_rv, hold.from_ts_ns, hold.until_ts_ns, *joined


class _DeclaredDevices(folders.Folder):
    """The devices that slices declare, and whether claims may share them."""

    def __init__(self) -> None:
        self.shareable: dict[str, bool] = {}
        self._ended: Rows = []
        self._declared: dict[str, dict[Row, Row]] = {}
        """Slice by UID -> device, pool, generation and more, as it declares them now -> since."""

    def see_slice(self, seen: observations.SeenSlice) -> None:
        spec, begin = seen.object.spec, (seen.version, seen.ts_ns)
        now: dict[Row, Row] = {}
        for item in spec.devices or () if not seen.is_gone else ():
            device = f"{spec.driver}/{spec.pool.name}/{item.name}"
            is_shareable = item.allow_multiple_allocations is True
            self.shareable[device] = self.shareable.get(device, False) or is_shareable
            pool = spec.driver, spec.pool.name, spec.pool.generation
            now[device, *pool, is_shareable] = begin
        for row, since in self._declared.pop(seen.object.metadata.uid, {}).items():
            if row in now:
                now[row] = since
            else:
                self._ended.append(_until(row, since, begin))
        self._declared[seen.object.metadata.uid] = now

    def rows(self) -> Iterator[Row]:
        yield from self._ended
        for declared in self._declared.values():
            yield from (_until(row, since, (None, None)) for row, since in declared.items())


def _until(row: Row, since: Row, until: Row) -> Row:
    return *row, since[0], until[0], since[1], until[1]


# ------------------------------------------------------------------ plans and journals


def _run(run: directories.RunDirectory) -> Row:
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


def _operations(path: Any, process: str) -> Iterator[Row]:
    open_calls: dict[int, records.Invocation] = {}
    for found in journal_reader.Reader(path):
        if isinstance(found, records.Invocation):
            open_calls[found.op] = found
        elif isinstance(found, records.Completion) and found.op in open_calls:
            ended = found.ts_ns, found.outcome, found.status, found.reason
            yield process, *_call(open_calls.pop(found.op)), *ended
    for call in open_calls.values():
        yield process, *_call(call), None, None, None, None


def _call(call: records.Invocation) -> Row:
    return call.op, call.user, call.verb, call.resource, call.namespace, call.name, call.ts_ns


def _steps(path: Any, process: str) -> Iterator[Row]:
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
