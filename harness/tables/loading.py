"""Reads the files of run directories into tables, as far as the views need them.

A line that is no JSON is left out: the certificate of `flake-hunt check` is what tells damage.
"""

import json
import pathlib
from collections.abc import Iterable
from typing import Any

from harness import errors, regular_files
from harness.history import clock_domains, directories, files, zstd_frames

TABLES = """
CREATE TABLE run_documents (
    run VARCHAR, scenario VARCHAR, subject VARCHAR, defects VARCHAR[], seed UBIGINT,
    created_wall_ns BIGINT, verdict VARCHAR, reason VARCHAR
);
CREATE TABLE observed (
    run VARCHAR, position BIGINT, record VARCHAR, resource VARCHAR, type VARCHAR,
    purpose VARCHAR, rv BIGINT, count BIGINT, ts_ns BIGINT, uid VARCHAR, namespace VARCHAR,
    name VARCHAR, content JSON
);
CREATE TABLE calls (
    run VARCHAR, process VARCHAR, record VARCHAR, op BIGINT, "user" VARCHAR, verb VARCHAR,
    resource VARCHAR, namespace VARCHAR, name VARCHAR, ts_ns BIGINT, outcome VARCHAR,
    status INTEGER, reason VARCHAR
);
CREATE TABLE taken_steps (
    run VARCHAR, process VARCHAR, seq BIGINT, ts_ns BIGINT, thread VARCHAR, name VARCHAR,
    fields JSON
);
"""
"""`position` orders the records of one run as the recorder wrote them."""
NAMES = ("run_documents", "observed", "calls", "taken_steps")
"""The tables."""
_OBSERVED = """
INSERT INTO observed
SELECT ?, row_number() OVER (), record, resource, type, purpose,
    coalesce(resource_version, after_resource_version), count, ts_ns,
    json_extract_string(object, '$.metadata.uid'),
    json_extract_string(object, '$.metadata.namespace'),
    json_extract_string(object, '$.metadata.name'),
    CASE resource
        WHEN 'resourceslices' THEN json_extract(object, '$.spec')
        WHEN 'resourceclaims' THEN json_extract(object, '$.status')
        WHEN 'pods' THEN json_object(
            'phase', json_extract_string(object, '$.status.phase'),
            'node', json_extract_string(object, '$.spec.nodeName'))
    END
FROM read_json(?, format = 'newline_delimited', ignore_errors = true,
    compression = ?, maximum_object_size = 67108864, columns = {
        record: 'VARCHAR', resource: 'VARCHAR', type: 'VARCHAR', purpose: 'VARCHAR',
        resource_version: 'BIGINT', after_resource_version: 'BIGINT', count: 'BIGINT',
        ts_ns: 'BIGINT', object: 'JSON'})
"""
_CALLS = """
INSERT INTO calls
SELECT ?, ?, record, op, "user", verb, resource, namespace, name, ts_ns + ?, outcome, status,
    reason
FROM read_json(?, format = 'newline_delimited', ignore_errors = true,
    compression = ?, columns = {
    record: 'VARCHAR', op: 'BIGINT', "user": 'VARCHAR', verb: 'VARCHAR', resource: 'VARCHAR',
    namespace: 'VARCHAR', name: 'VARCHAR', ts_ns: 'BIGINT', outcome: 'VARCHAR',
    status: 'INTEGER', reason: 'VARCHAR'})
WHERE record IN ('invocation', 'completion')
"""
_STEPS = """
INSERT INTO taken_steps
SELECT ?, ?, seq, ts_ns, thread, name, fields
FROM read_json(?, format = 'newline_delimited', ignore_errors = true,
    compression = ?, columns = {
    record: 'VARCHAR', seq: 'BIGINT', ts_ns: 'BIGINT', thread: 'VARCHAR', name: 'VARCHAR',
    fields: 'JSON'})
WHERE record = 'step'
"""


def load(connection: Any, directory: directories.RunDirectory, tables: Iterable[str]) -> None:
    """Add a run to these of the TABLES.

    Raises HistoryError for a journal that is no file or grows to far more than journals do, and
    duckdb.Error for one that cannot be read.
    """
    run = str(directory.path)
    for table in tables:
        match table:
            case "run_documents":
                _add_run(connection, directory)
            case "observed":
                for path in directory.all_observations():
                    connection.execute(_OBSERVED, [run, *_readable(path)])
            case "calls":
                domains = clock_domains.of_directory(directory)
                for path in directory.all_operations():
                    domain = domains.get(_process(path))
                    offset_ns = domain.offset_ns if domain else 0
                    values = [run, _process(path), offset_ns, *_readable(path)]
                    connection.execute(_CALLS, values)
            case "taken_steps":
                for path in directory.all_steps():
                    connection.execute(_STEPS, [run, _process(path), *_readable(path)])


def _add_run(connection: Any, directory: directories.RunDirectory) -> None:
    plan, verdict = _document(directory.plan), _document(directory.verdict)
    values = [plan.get(key) for key in ("scenario", "subject", "defects", "seed")]
    values += [plan.get("created_wall_ns"), verdict.get("verdict"), verdict.get("reason")]
    connection.execute(
        "INSERT INTO run_documents VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [str(directory.path), *values]
    )


def _document(path: pathlib.Path) -> dict[str, Any]:
    """Return a JSON object of a run; empty if the file is missing or is none."""
    try:
        value = json.loads(regular_files.content(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _process(path: pathlib.Path) -> str:
    """Return the process of `operations-<process>.jsonl`."""
    return directories.journal_stem(path).partition("-")[2]


def _readable(path: pathlib.Path) -> tuple[str, str]:
    """Return the pattern of a journal, and its compression.

    DuckDB would wait for a FIFO, and go by the name: of a path with a question mark only by the
    part before it. Raises HistoryError for a journal that is not to be read.
    """
    with files.open_regular(path) as file:
        if path.suffix != zstd_frames.SUFFIX:
            return exactly(path), "none"
        try:
            zstd_frames.require_bounded(file)
        except zstd_frames.BombError as error:
            raise errors.HistoryError(f"{path.name}: {error}") from error
    return exactly(path), "zstd"


def exactly(path: pathlib.Path) -> str:
    """Return the path as a pattern of DuckDB that matches this file alone."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in str(path))
