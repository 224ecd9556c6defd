"""Groups of runs that repeat each other, and which groups of two sides can be compared."""

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Sequence

from harness.comparison import documents, setting_differences, sides


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Runs of one side with the same scenario, load and subject."""

    side: str
    scenario: str
    variant: tuple[object, ...]
    """The subject, its defects and its remedies; versions may differ."""
    load: setting_differences.Flat
    until_found: bool
    runs: Sequence[sides.Run]

    @property
    def subject(self) -> str:
        """The subject's name; several if its versions differ."""
        return ", ".join(dict.fromkeys(run.plan.subject_name for run in self.runs))


Pair = tuple[Group, Group]
"""A group of the first side and one of the second."""


@dataclasses.dataclass(frozen=True, slots=True)
class Matching:
    """Which groups of two sides are compared."""

    pairs: list[Pair]
    not_compared: list[documents.NotCompared]


def _of_side(side: sides.Side) -> list[Group]:
    ordered = sorted(side.runs, key=lambda run: repr(_key(run)))
    return [_group(side.label, list(runs)) for _, runs in itertools.groupby(ordered, key=_key)]


def _key(run: sides.Run) -> tuple[object, ...]:
    plan = run.plan
    load = tuple(setting_differences.load_of(plan).items())
    return plan.scenario, _variant(run), plan.until_found, load


def _variant(run: sides.Run) -> tuple[object, ...]:
    plan = run.plan
    return plan.subject, tuple(plan.defects), tuple(plan.remedies)


def _group(label: str, runs: Sequence[sides.Run]) -> Group:
    plan = runs[0].plan
    return Group(
        side=label,
        scenario=plan.scenario,
        variant=_variant(runs[0]),
        load=setting_differences.load_of(plan),
        until_found=plan.until_found,
        runs=runs,
    )


def jobs(group: Group) -> str:
    """Return how many runs of a group were made at once, as `--jobs` takes it."""
    found = sorted({run.plan.jobs for run in group.runs})
    return ", ".join(setting_differences.jobs_text(number) for number in found)


def match(one: sides.Side, other: sides.Side) -> Matching:
    """Pair the groups of two sides, scenario by scenario.

    The same subject is compared with itself; if one subject is left on each side, these two are
    compared.
    """
    result = Matching([], [])
    first, second = _of_side(one), _of_side(other)
    for name in sorted({group.scenario for group in (*first, *second)}):
        mine = [group for group in first if group.scenario == name]
        theirs = [group for group in second if group.scenario == name]
        result.pairs.extend(_taken(mine, theirs))
        result.not_compared.extend(_left(mine, theirs, other.label))
        result.not_compared.extend(_left(theirs, mine, one.label))
    return result


def _taken(mine: list[Group], theirs: list[Group]) -> Iterator[Pair]:
    """Yield the pairs of one scenario, and remove their groups from the lists."""
    for group in list(mine):
        fitting = [
            item
            for item in theirs
            if item.variant == group.variant and not _load_difference(group, item)
        ]
        if fitting:
            yield _removed(mine, group), _removed(theirs, fitting[0])
    if len(mine) == len(theirs) == 1 and not _load_difference(mine[0], theirs[0]):
        yield mine.pop(), theirs.pop()


def _removed(groups: list[Group], group: Group) -> Group:
    groups.remove(group)
    return group


def _load_difference(first: Group, second: Group) -> str:
    return setting_differences.load_difference(first.load, second.load)


def _left(
    groups: Iterable[Group], others: Sequence[Group], other: str
) -> Iterator[documents.NotCompared]:
    """Yield the groups that are left over in one scenario; `other` is the other side's label."""
    for group in groups:
        yield documents.NotCompared(
            side=group.side,
            scenario=group.scenario,
            subject=group.subject,
            runs=len(group.runs),
            reason=_reason(group, others, other),
        )


def _reason(group: Group, others: Sequence[Group], label: str) -> str:
    for other in others:
        difference = _load_difference(group, other)
        if difference and (other.variant == group.variant or len(others) == 1):
            return f"the load differs: {difference}"
    if others:
        return f"{label} has several subjects left, and none of them is this one"
    return f"{label} has no runs to compare it with"
