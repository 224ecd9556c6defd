"""Settings of runs as flat keys: their load, and how two groups of runs differ."""

import functools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from harness.comparison import sides
from harness.history import plans, run_folders, subject_names
from harness.scenario.toml_files import documents

_ABOUT = frozenset({"title", "description", "schema_version"})
"""Keys of a scenario or profile that are for people only."""
_NO_LOAD = _ABOUT | {
    "name",
    "subject",
    "controls",
    "known_to_fail",
    "remedies",
    "plain_hunt",
    "load",
    "recording",
    "thresholds",
}
"""Keys of a scenario that do not belong to the load; a key that is not known here does."""
_DURATION = "traffic.duration_s"
_SHOWN = 3
"""Differences of the load that a sentence names."""
_NESTED_MAX = 32
"""Levels of settings; a scenario has six."""
Flat = Mapping[str, str]


def load_of(plan: plans.Plan) -> Flat:
    """Return the load of a run, without its duration if it ends at the first double allocation.

    Such a run may last longer, so that there is more to find; it is the same load.
    """
    flat = dict(_load(msgspec.json.encode(plan.settings)))
    if plan.until_found:
        flat.pop(_DURATION, None)
    return flat


def load_difference(first: Flat, second: Flat) -> str:
    """Return how two loads differ, in a clause; empty if they are comparable."""
    keys = sorted(first.keys() | second.keys())
    if _DURATION not in first or _DURATION not in second:
        keys = [key for key in keys if key != _DURATION]
    found = [
        f"{key} is {first.get(key, 'not set')} and {second.get(key, 'not set')}"
        for key in keys
        if first.get(key) != second.get(key)
    ]
    more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more


def between(
    first: Sequence[sides.Run], second: Sequence[sides.Run]
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield the settings that differ: key, the values of the first group, those of the second."""
    of_first, of_second = _values(first), _values(second)
    for key in sorted(of_first.keys() | of_second.keys(), key=_rank):
        mine, theirs = (tuple(sorted(values.get(key, ()))) for values in (of_first, of_second))
        if mine != theirs:
            yield key, mine, theirs


_ORDER = ("subject", "until_found", "judges", "machine", "jobs", "cluster", "settings", "versions")


def _rank(key: str) -> tuple[int, str]:
    """Return the place of a key in the list: the subject first, libraries last."""
    places = (place for place, name in enumerate(_ORDER) if key.startswith(name))
    return next(places, len(_ORDER)), key


def _values(runs: Iterable[sides.Run]) -> dict[str, set[str]]:
    values: dict[str, set[str]] = {}
    for run in runs:
        for key, value in _of_run(run):
            values.setdefault(key, set()).add(value)
    return values


def _of_run(run: sides.Run) -> Iterator[tuple[str, str]]:
    plan = run.plan
    yield "subject", subject_names.of_plan(plan)
    yield "until_found", _text(plan.until_found)
    yield "machine", f"boot {plan.boot_id[:8]}"
    yield "jobs", jobs_text(plan.jobs)
    yield from _settings(msgspec.json.encode(plan.settings))
    profile = {key: plan.cluster_profile[key] for key in plan.cluster_profile.keys() - _ABOUT}
    profile.pop("chosen", None)
    yield from _flat("cluster", profile)
    yield from _flat("cluster.versions", run_folders.cluster_versions(run.path))
    yield from _flat("versions", plan.versions)
    judges = run.verdict.judges
    digest = judges.get("digest", "").removeprefix("sha256:")[:12]
    yield (
        "judges",
        f"{judges.get('version', '')} {digest}".strip() if judges else "of an older version",
    )


def jobs_text(jobs: int) -> str:
    """Return the number of runs that were made at once; one run alone records none."""
    return str(jobs) if jobs else "not recorded"


@functools.lru_cache(maxsize=256)
def _settings(content: bytes) -> tuple[tuple[str, str], ...]:
    """Return the settings of a scenario; most runs of a campaign share a few contents."""
    chosen = {key: value for key, value in _decoded(content).items() if key not in _ABOUT}
    return tuple(_flat("settings", chosen))


@functools.lru_cache(maxsize=256)
def _load(content: bytes) -> tuple[tuple[str, str], ...]:
    chosen = {key: value for key, value in _decoded(content).items() if key not in _NO_LOAD}
    return tuple((key.removeprefix("."), value) for key, value in _flat("", chosen))


def _decoded(content: bytes) -> dict[str, Any]:
    found: dict[str, Any] = documents.without(msgspec.json.decode(content))
    return found


def _flat(key: str, value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    match value:
        case dict() | list() if depth == _NESTED_MAX:
            yield key, "nested too deep"
        case dict():
            for name in sorted(value):
                yield from _flat(f"{key}.{name}", value[name], depth + 1)
        case list():
            for number, item in enumerate(value):
                yield from _flat(f"{key}[{number}]", item, depth + 1)
        case _:
            yield key, _text(value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
