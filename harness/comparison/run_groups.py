"""Groups of runs that repeat each other: which of two sides can be compared, and what differs."""

import functools
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from harness.comparison import documents, sides
from harness.history import plans, run_folders, subject_names
from harness.scenario.toml_files import documents as settings_documents

_ABOUT = frozenset({"title", "description", "schema_version"})
"""Keys of a scenario or profile that are for people only."""
_NO_LOAD = _ABOUT | {
    *("name", "subject", "controls", "known_to_fail", "remedies", "plain_hunt"),
    *("load", "recording", "thresholds"),
}
"""Keys of a scenario that do not belong to the load; a key that is not known here does."""
_DURATION = "traffic.duration_s"
_SHOWN = 3
"""Differences of the load that a sentence names."""
_NESTED_MAX = 32
"""Levels of settings; a scenario has six."""
_ORDER = ("subject", "until_found", "judges", "machine", "jobs", "cluster", "settings", "versions")
"""Beginnings of keys, in the order in which they are listed."""
Flat = Mapping[str, str]


class Group(NamedTuple):
    """Runs of one side with the same scenario, load and subject."""

    side: str
    runs: Sequence[sides.Run]

    @property
    def scenario(self) -> str:
        return self.runs[0].plan.scenario

    @property
    def variant(self) -> tuple[object, ...]:
        """The subject, its defects and its remedies; versions may differ."""
        return _variant(self.runs[0].plan)

    @property
    def subject(self) -> str:
        return ", ".join(dict.fromkeys(subject_names.of_plan(run.plan) for run in self.runs))


Pair = tuple[Group, Group]
"""A group of the first side and one of the second."""


def match(one: sides.Side, other: sides.Side) -> tuple[list[Pair], list[documents.NotCompared]]:
    """Pair the groups of two sides, scenario by scenario; return also those that are left.

    The same subject is compared with itself; if one subject is left on each side, these two are
    compared.
    """
    pairs: list[Pair] = []
    left: list[documents.NotCompared] = []
    first, second = _of_side(one), _of_side(other)
    for name in sorted({group.scenario for group in (*first, *second)}):
        mine, theirs = (
            [group for group in side if group.scenario == name] for side in (first, second)
        )
        for pair in _pairs(mine, theirs):
            pairs.append(pair)
            mine.remove(pair[0])
            theirs.remove(pair[1])
        for groups, others, label in ((mine, theirs, other.label), (theirs, mine, one.label)):
            left += [
                documents.NotCompared(
                    side=group.side,
                    scenario=name,
                    subject=group.subject,
                    runs=len(group.runs),
                    reason=_reason(group, others, label),
                )
                for group in groups
            ]
    return pairs, left


def _of_side(side: sides.Side) -> list[Group]:
    ordered = sorted(side.runs, key=lambda run: repr(_key(run)))
    return [Group(side.label, list(runs)) for _, runs in itertools.groupby(ordered, key=_key)]


def _key(run: sides.Run) -> tuple[object, ...]:
    load = tuple(_load(run.plan).items())
    return run.plan.scenario, _variant(run.plan), run.plan.until_found, load


def _variant(plan: plans.Plan) -> tuple[object, ...]:
    return plan.subject, tuple(plan.defects), tuple(plan.remedies)


def _pairs(mine: list[Group], theirs: list[Group]) -> Iterator[Pair]:
    for group in list(mine):
        for item in theirs:
            if item.variant == group.variant and not _load_difference(group, item):
                yield group, item
                break
    if len(mine) == len(theirs) == 1 and not _load_difference(mine[0], theirs[0]):
        yield mine[0], theirs[0]


def _reason(group: Group, others: Sequence[Group], label: str) -> str:
    for other in others:
        difference = _load_difference(group, other)
        if difference and (other.variant == group.variant or len(others) == 1):
            return f"the load differs: {difference}"
    if others:
        return f"{label} has several subjects left, and none of them is this one"
    return f"{label} has no runs to compare it with"


def _load(plan: plans.Plan) -> Flat:
    """Return the load of a run, without its duration if it ends at the first double allocation.

    Such a run may last longer, so that there is more to find; it is the same load.
    """
    return {
        key: value
        for key, value in _settings(msgspec.json.encode(plan.settings)).items()
        if _table(key) not in _NO_LOAD and not (plan.until_found and key == _DURATION)
    }


def _load_difference(one: Group, other: Group) -> str:
    first, second = (_load(group.runs[0].plan) for group in (one, other))
    found = [
        f"{key} is {first.get(key, 'not set')} and {second.get(key, 'not set')}"
        for key in sorted(first.keys() | second.keys())
        if first.get(key) != second.get(key)
        and not (key == _DURATION and (key not in first or key not in second))
    ]
    more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(found[:_SHOWN]) + more


def differences(pair: Pair) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield the settings that differ: key, the values of the first group, those of the second."""
    of_first, of_second = (_values(group.runs) for group in pair)
    for key in sorted(of_first.keys() | of_second.keys(), key=_rank):
        mine, theirs = (tuple(sorted(values.get(key, ()))) for values in (of_first, of_second))
        if mine != theirs:
            yield key, mine, theirs


def _rank(key: str) -> tuple[int, str]:
    places = (place for place, name in enumerate(_ORDER) if key.startswith(name))
    return next(places, len(_ORDER)), key


def _values(runs: Iterable[sides.Run]) -> dict[str, set[str]]:
    values: dict[str, set[str]] = {}
    for run in runs:
        for key, value in _of_run(run):
            values.setdefault(key, set()).add(value)
    return values


def _of_run(run: sides.Run) -> Iterator[tuple[str, str]]:
    plan, judges = run.plan, run.verdict.judges
    yield "subject", subject_names.of_plan(plan)
    yield "until_found", _text(plan.until_found)
    yield "machine", f"boot {plan.boot_id[:8]}"
    yield "jobs", str(plan.jobs or "not recorded")
    for key, value in _settings(msgspec.json.encode(plan.settings)).items():
        if _table(key) not in _ABOUT:
            yield f"settings.{key}", value
    known = plan.cluster_profile.keys() - _ABOUT - {"chosen"}
    yield from _flat("cluster", {key: plan.cluster_profile[key] for key in known})
    yield from _flat("cluster.versions", run_folders.cluster_versions(run.path))
    yield from _flat("versions", plan.versions)
    digest = judges.get("digest", "").removeprefix("sha256:")[:12]
    named = f"{judges.get('version', '')} {digest}".strip()
    yield "judges", named if judges else "of an older version"


def _table(key: str) -> str:
    return key.partition(".")[0].partition("[")[0]


@functools.lru_cache(maxsize=256)
def _settings(content: bytes) -> Flat:
    """Return the settings of a scenario; most runs of a campaign share a few contents."""
    known = settings_documents.without(msgspec.json.decode(content))
    return {key.removeprefix("."): value for key, value in _flat("", known)}


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
