"""The views that queries read: their SQL, their columns with units, and the tables behind them."""

import re
from collections.abc import Sequence
from pathlib import Path

from harness.tables import hold_views, loading

COLUMNS = {
    "runs": "run, scenario, subject, defects (list), seed, created_wall_ns, verdict, reason",
    "claims": "run, uid, namespace, name, from_rv, from_ts_ns, allocated_rv, allocated_ts_ns, "
    "gone_rv, gone_ts_ns",
    "pods": "run, uid, namespace, name, node, from_rv, from_ts_ns, running_ts_ns, gone_rv, "
    "gone_ts_ns",
    "holds": "run, device (driver/pool/device), uid, namespace, name (of the claim), kind "
    "(exclusive, share or admin), from_rv, until_rv (exclusive), from_ts_ns, until_ts_ns",
    "devices": "run, device, shareable (true: a slice let claims share it)",
    "exclusivity": "run, examined (holds), double_allocations (pairs of them)",
    "operations": "run, process, op, user, verb, resource, namespace, name, started_ts_ns, "
    "ended_ts_ns, outcome, status (HTTP), reason",
    "steps": "run, process, seq, ts_ns, thread, name, fields (JSON)",
}
"""View -> its columns, in order, as the help shows them."""
UNITS = (
    "run: path of the run directory; *_rv: resourceVersion (BIGINT); *_ts_ns: monotonic "
    "nanoseconds of the run's machine (BIGINT); created_wall_ns: Unix time in nanoseconds; "
    "all others are text, whole numbers or true and false; NULL: never, or not known"
)
_TABLE_OF = {
    "runs": "run_documents",
    "claims": "observed",
    "pods": "observed",
    "holds": "observed",
    "devices": "observed",
    "exclusivity": "observed",
    "operations": "calls",
    "steps": "taken_steps",
}
_OF_RUNS = {
    "runs": "run_documents",
    "claims": "run_claims",
    "pods": "run_pods",
    "holds": "run_holds",
    "devices": "run_devices",
    "operations": "run_operations",
    "steps": "taken_steps",
}
"""View -> the table or view that has its rows of run directories."""
EXPORTED = tuple(_OF_RUNS)
"""The views that an export has as Parquet files; the others are made of these."""
_CLAIMS = """
CREATE VIEW run_claims AS
SELECT run, uid, any_value(namespace) AS namespace, any_value(name) AS name,
    min(rv) AS from_rv, min(ts_ns) AS from_ts_ns,
    min(rv) FILTER (json_exists(content, '$.allocation')) AS allocated_rv,
    min(ts_ns) FILTER (json_exists(content, '$.allocation')) AS allocated_ts_ns,
    max(rv) FILTER (type = 'DELETED') AS gone_rv,
    max(ts_ns) FILTER (type = 'DELETED') AS gone_ts_ns
FROM observed
WHERE record = 'observation' AND resource = 'resourceclaims' AND type <> 'FINAL'
GROUP BY run, uid
"""
_PODS = """
CREATE VIEW run_pods AS
SELECT run, uid, any_value(namespace) AS namespace, any_value(name) AS name,
    any_value(json_extract_string(content, '$.node')) AS node,
    min(rv) AS from_rv, min(ts_ns) AS from_ts_ns,
    min(ts_ns) FILTER (json_extract_string(content, '$.phase') = 'Running') AS running_ts_ns,
    max(rv) FILTER (type = 'DELETED') AS gone_rv,
    max(ts_ns) FILTER (type = 'DELETED') AS gone_ts_ns
FROM observed
WHERE record = 'observation' AND resource = 'pods' AND type <> 'FINAL'
GROUP BY run, uid
"""
_OPERATIONS = """
CREATE VIEW run_operations AS
SELECT i.run, i.process, i.op, i."user", i.verb, i.resource, i.namespace, i.name,
    i.ts_ns AS started_ts_ns, c.ts_ns AS ended_ts_ns, c.outcome, c.status, c.reason
FROM (SELECT * FROM calls WHERE record = 'invocation') i
LEFT JOIN (SELECT * FROM calls WHERE record = 'completion') c USING (run, process, op)
"""
_ALL_OF_RUNS = (
    hold_views.RELISTS,
    hold_views.REWINDS,
    hold_views.VERSIONS,
    hold_views.HOLDS,
    hold_views.DEVICES,
    _CLAIMS,
    _PODS,
    _OPERATIONS,
)


def statements(exports: Sequence[Path] = ()) -> list[str]:
    """Return the statements that make all views, over the tables of runs and these exports."""
    public = [
        f"CREATE VIEW {view} AS {' UNION ALL '.join(_sources(view, exports))}" for view in _OF_RUNS
    ]
    return [*_ALL_OF_RUNS, *public, hold_views.EXCLUSIVITY]


def file_of(export: Path, view: str) -> Path:
    """Return the Parquet file of a view."""
    return export / f"{view}.parquet"


def text(value: object) -> str:
    """Return a value as a text of SQL."""
    return "'" + str(value).replace("'", "''") + "'"


def tables_of(query: str) -> list[str]:
    """Return the tables behind the views that a query can read: those whose names are in it."""
    words = set(re.findall(r"\w+", query.lower()))
    return sorted({table for view, table in _TABLE_OF.items() if view in words})


def _sources(view: str, exports: Sequence[Path]) -> list[str]:
    found = [f"SELECT * FROM {_OF_RUNS[view]}"]
    if exports:
        paths = ", ".join(text(loading.exactly(file_of(path, view))) for path in exports)
        found.append(f"SELECT * FROM read_parquet([{paths}])")
    return found
