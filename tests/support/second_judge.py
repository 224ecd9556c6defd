"""A second judge of exclusivity: folds the holds in SQL, to compare with the check and the tables.

The definition is that of the README and not the code of the checks: a claim holds a device from the
version that writes the device into `status.allocation` to the one that removes it or deletes the
claim. If a gap in the watch hides the end, the hold ends right behind the last version before it.
Where the revisions go back, a second history begins, which cannot be put in order with the first
one: all holds end there, and none begins afterwards.
It shares no code with the checks.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from harness.history import directories
from harness.tables import database

OBSERVED = """
CREATE TABLE observed (
    run VARCHAR, position BIGINT, record VARCHAR, resource VARCHAR, type VARCHAR,
    purpose VARCHAR, rv BIGINT, count BIGINT, ts_ns BIGINT, uid VARCHAR, namespace VARCHAR,
    name VARCHAR, content JSON
)
"""
"""`position` orders the records of one run as the recorder wrote them."""
READ = """
INSERT INTO observed
SELECT ?, row_number() OVER (), record, resource, type, purpose,
    coalesce(resource_version, after_resource_version), count, ts_ns,
    json_extract_string(object, '$.metadata.uid'),
    json_extract_string(object, '$.metadata.namespace'),
    json_extract_string(object, '$.metadata.name'),
    CASE resource
        WHEN 'resourceslices' THEN json_extract(object, '$.spec')
        WHEN 'resourceclaims' THEN json_extract(object, '$.status')
    END
FROM read_json(?, format = 'newline_delimited', ignore_errors = true,
    compression = ?, maximum_object_size = 67108864, columns = {
        record: 'VARCHAR', resource: 'VARCHAR', type: 'VARCHAR', purpose: 'VARCHAR',
        resource_version: 'BIGINT', after_resource_version: 'BIGINT', count: 'BIGINT',
        ts_ns: 'BIGINT', object: 'JSON'})
"""
RELISTS = """
CREATE VIEW relists AS
WITH listed AS (
    SELECT run, position, row_number() OVER (PARTITION BY run ORDER BY position) AS number
    FROM observed WHERE resource = 'resourceclaims' AND type = 'LISTED'
),
lists AS (
    SELECT o.run, o.position, o.count,
        coalesce(
            (SELECT arg_max(g.rv, g.position) FROM observed g WHERE g.run = o.run
                AND g.record = 'gap' AND g.resource = o.resource AND g.position < o.position),
            (SELECT max(e.rv) FROM observed e WHERE e.run = o.run AND e.resource = o.resource
                AND e.position < o.position AND e.record IN ('observation', 'listed')),
            0) AS certain_rv,
        (SELECT count(*) FROM listed l
            WHERE l.run = o.run AND l.position < o.position) AS before,
        lead(o.position) OVER (PARTITION BY o.run ORDER BY o.position) AS next_position
    FROM observed o
    WHERE o.record = 'listed' AND o.purpose = 'relist' AND o.resource = 'resourceclaims'
)
SELECT lists.run, lists.position, certain_rv, next_position,
    CASE WHEN count <= 0 THEN lists.position
        ELSE coalesce(listed.position, 4611686018427387904) END AS ended
FROM lists LEFT JOIN listed
    ON listed.run = lists.run AND listed.number = lists.before + lists.count
"""
"""Lists of the claims after a gap: `certain_rv` is the last version before it."""
REWINDS = """
CREATE VIEW rewinds AS
WITH claims AS (
    SELECT run, position, type, purpose, rv, max(rv) OVER (
        PARTITION BY run ORDER BY position
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS newest
    FROM observed
    WHERE resource = 'resourceclaims' AND record IN ('observation', 'listed')
),
listed AS (
    SELECT s.run, r.position, s.uid, s.rv
    FROM observed s JOIN relists r ON s.run = r.run
        AND s.position > r.position AND s.position <= r.ended
    WHERE s.resource = 'resourceclaims' AND s.type = 'LISTED' AND s.rv <= r.certain_rv
        AND json_array_length(s.content, '$.allocation.devices.results') > 0
)
SELECT run, min(position) AS position FROM (
    SELECT run, position FROM claims
    WHERE rv < newest AND coalesce(type NOT IN ('LISTED', 'FINAL'), purpose <> 'final')
    UNION ALL
    SELECT l.run, l.position FROM listed l
    WHERE NOT EXISTS (
        SELECT 1 FROM observed e WHERE e.run = l.run AND e.resource = 'resourceclaims'
            AND e.uid = l.uid AND e.rv = l.rv AND e.position < l.position)
) GROUP BY run
"""
"""Where the revisions of a run go back: the first list or event that is older than what came
before, or list with an allocation in a version that was not observed, although the watch had come
further."""
VERSIONS = """
CREATE VIEW claim_versions AS
WITH seen AS (
    SELECT o.* FROM observed o LEFT JOIN rewinds w ON w.run = o.run
    WHERE record = 'observation' AND resource = 'resourceclaims' AND type <> 'FINAL'
        AND (w.position IS NULL OR o.position < w.position)
),
told AS (
    SELECT s.run, s.position::DOUBLE AS place, s.uid, s.rv, s.ts_ns, s.type = 'DELETED' AS gone,
        json_extract(s.content, '$.allocation.devices.results') AS results,
        CASE WHEN s.type = 'LISTED' AND s.position <= r.ended THEN r.certain_rv + 1 END
            AS released_rv
    FROM seen s ASOF LEFT JOIN relists r ON s.run = r.run AND s.position > r.position
),
vanished AS (
    SELECT r.run, r.ended + 0.5 AS place, u.uid, r.certain_rv + 1 AS rv, u.ts_ns, true AS gone,
        NULL::JSON AS results, NULL::BIGINT AS released_rv
    FROM relists r
    JOIN (SELECT run, uid, min(position) AS position, max(ts_ns) AS ts_ns FROM seen
            GROUP BY ALL) u
        ON u.run = r.run AND u.position <= r.ended
    WHERE (r.next_position IS NULL OR r.next_position > r.ended)
        AND NOT EXISTS (
            SELECT 1 FROM seen s WHERE s.run = r.run AND s.uid = u.uid AND s.type = 'LISTED'
                AND s.position > r.position AND s.position <= r.ended)
)
SELECT *, row_number() OVER (PARTITION BY run, uid ORDER BY place) AS step
FROM (SELECT * FROM told UNION ALL SELECT * FROM vanished)
"""
"""The versions of each claim in order; a claim that a list lacks has one without devices."""
HOLDS = """
CREATE VIEW holds AS
WITH results AS (
    SELECT run, uid, step, unnest(from_json(results, '["JSON"]')) AS result,
        generate_subscripts(from_json(results, '["JSON"]'), 1) AS number
    FROM claim_versions WHERE NOT gone AND json_type(results) = 'ARRAY'
),
fields AS (
    SELECT run, uid, step, number,
        concat_ws('/', json_extract_string(result, '$.driver'),
            json_extract_string(result, '$.pool'), json_extract_string(result, '$.device'))
            AS device,
        coalesce(json_extract_string(result, '$.adminAccess') = 'true', false) AS admin,
        coalesce(json_extract_string(result, '$.shareID'), '') <> '' AS part,
        json_extract(result, '$.consumedCapacity')::VARCHAR AS consumed
    FROM results
),
held AS (
    SELECT run, uid, step, device, bool_or(NOT admin AND NOT part) AS exclusive,
        bool_or(NOT admin AND part) AS shared,
        coalesce(string_agg(consumed, ',' ORDER BY number) FILTER (NOT admin AND part), '')
            AS consumed
    FROM fields GROUP BY run, uid, step, device
),
runs_of_steps AS (
    SELECT *, step - row_number() OVER (
        PARTITION BY run, uid, device, exclusive, shared, consumed ORDER BY step) AS island
    FROM held
),
islands AS (
    SELECT run, uid, device, exclusive, shared, min(step) AS first, max(step) AS last
    FROM runs_of_steps GROUP BY run, uid, device, exclusive, shared, consumed, island
),
names AS (
    SELECT run, uid, first(namespace ORDER BY position) AS namespace,
        first(name ORDER BY position) AS name
    FROM observed WHERE resource = 'resourceclaims' AND uid IS NOT NULL GROUP BY run, uid
)
SELECT i.run, i.device, i.uid, n.namespace, n.name,
    CASE WHEN i.exclusive THEN 'exclusive' WHEN i.shared THEN 'share' ELSE 'admin' END AS kind,
    b.rv AS from_rv,
    CASE WHEN e.step IS NOT NULL THEN
        greatest(b.rv, CASE WHEN e.gone THEN e.rv ELSE coalesce(e.released_rv, e.rv) END)
    END AS until_rv,
    b.ts_ns AS from_ts_ns, e.ts_ns AS until_ts_ns
FROM islands i
JOIN claim_versions b ON b.run = i.run AND b.uid = i.uid AND b.step = i.first
LEFT JOIN claim_versions e ON e.run = i.run AND e.uid = i.uid AND e.step = i.last + 1
LEFT JOIN names n ON n.run = i.run AND n.uid = i.uid
"""
DEVICES = """
CREATE VIEW devices AS
WITH slices AS (
    SELECT run, json_extract_string(content, '$.driver') AS driver,
        json_extract_string(content, '$.pool.name') AS pool,
        unnest(from_json(json_extract(content, '$.devices'), '["JSON"]')) AS device
    FROM observed
    WHERE record = 'observation' AND resource = 'resourceslices'
        AND type NOT IN ('DELETED', 'FINAL')
        AND json_type(json_extract(content, '$.devices')) = 'ARRAY'
)
SELECT run, concat_ws('/', driver, pool, json_extract_string(device, '$.name')) AS device,
    bool_or(coalesce(json_extract_string(device, '$.allowMultipleAllocations') = 'true', false))
        AS shareable
FROM slices GROUP BY ALL
"""
"""Devices of all versions of slices: shareable if one of them ever allowed it."""
EXCLUSIVITY = """
CREATE VIEW exclusivity AS
WITH examined AS NOT MATERIALIZED (
    SELECT h.run, h.device, h.uid, h.from_rv,
        coalesce(h.until_rv, 9223372036854775807) AS until_rv,
        coalesce(h.kind = 'share' AND d.shareable, false) AS share
    FROM holds h LEFT JOIN devices d USING (run, device)
    WHERE h.kind = 'exclusive' OR (h.kind = 'share' AND d.shareable IS NOT NULL)
),
lasting AS NOT MATERIALIZED (SELECT * FROM examined WHERE until_rv > from_rv),
touched AS (
    SELECT DISTINCT run, device FROM (
        SELECT run, device, from_rv < lag(until_rv) OVER (
            PARTITION BY run, device ORDER BY from_rv) AS early
        FROM lasting)
    WHERE early
),
ordered AS (
    SELECT *, max(until_rv) OVER (PARTITION BY run, device ORDER BY from_rv
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached,
        lead(from_rv) OVER (PARTITION BY run, device ORDER BY from_rv) AS next_rv
    FROM lasting SEMI JOIN touched USING (run, device)
),
overlapping AS (
    SELECT * FROM ordered
    WHERE from_rv < reached OR next_rv < greatest(reached, until_rv)
),
events AS (
    SELECT run, device, uid, share, from_rv AS rv, 1 AS change FROM overlapping
    UNION ALL
    SELECT run, device, uid, share, until_rv, -1 FROM overlapping
),
swept AS (
    SELECT run, change, share,
        sum(change) OVER device - 1 AS others,
        sum(CASE WHEN share THEN change END) OVER device - 1 AS shares,
        sum(change) OVER claim - 1 AS own,
        sum(CASE WHEN share THEN change END) OVER claim - 1 AS own_shares
    FROM events
    WINDOW
        device AS (PARTITION BY run, device ORDER BY rv, change
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
        claim AS (PARTITION BY run, device, uid ORDER BY rv, change
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),
doubled AS (
    SELECT run, sum(others - own - CASE WHEN share THEN shares - own_shares ELSE 0 END) AS pairs
    FROM swept WHERE change = 1 GROUP BY run
)
SELECT run, examined, coalesce(pairs, 0)::BIGINT AS double_allocations
FROM (SELECT run, count(*) AS examined FROM examined GROUP BY run) LEFT JOIN doubled USING (run)
"""
"""The number of examined holds of each run, and of pairs that overlap though they may not.

At each begin: the open holds of the device, without those of the claim itself and without shares
that it may overlap with as a share. Holds that overlap with none are left out before, because all
others are sorted twice: first those of devices whose holds, in order, all end before the next one
begins, then those that begin when all before them have ended, and end before the next one begins.
"""
STATEMENTS = (OBSERVED, RELISTS, REWINDS, VERSIONS, HOLDS, DEVICES, EXCLUSIVITY)
"""The table of observations, and the views over it."""


class Count(NamedTuple):
    """The figures of one judge about a run."""

    examined: int
    """Holds that exclude others, and shares of devices that can be shared."""
    doubled: int
    """Pairs of holds that overlap though they may not."""


@contextlib.contextmanager
def judging(runs: Sequence[directories.RunDirectory]) -> Iterator[Any]:
    """Yield a connection to a database with the views of this judge, over the runs."""
    with database.connected(STATEMENTS) as connection:
        for run in runs:
            for path in directories.forms(run.observations):
                compression = "zstd" if path.suffix == ".zst" else "none"
                connection.execute(READ, [str(run.path), str(path), compression])
        yield connection


def counts(runs: Sequence[directories.RunDirectory]) -> list[Count]:
    asked = "SELECT run, examined, double_allocations FROM exclusivity"
    with judging(runs) as connection:
        found = {run: Count(*count) for run, *count in connection.execute(asked).fetchall()}
    return [found.get(str(run.path), Count(0, 0)) for run in runs]
