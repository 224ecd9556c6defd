"""Groups of runs that repeat each other, and which groups of two sides can be compared."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from harness.comparison import documents, setting_differences, sides
from harness.history import subject_names


@dataclasses.dataclass(frozen=True, slots=True)
class Group:
    """Runs of one side with the same scenario, load and subject."""

    side: str
    runs: Sequence[sides.Run]

    @property
    def scenario(self) -> str:
        return self.runs[0].plan.scenario

    @property
    def variant(self) -> tuple[object, ...]:
        """The subject, its defects and its remedies; versions may differ."""
        return _variant(self.runs[0])

    @property
    def subject(self) -> str:
        return ", ".join(dict.fromkeys(subject_names.of_plan(run.plan) for run in self.runs))

    def load_difference(self, other: "Group") -> str:
        """Return how two loads differ, in a clause; empty if they are comparable."""
        loads = (setting_differences.load_of(group.runs[0].plan) for group in (self, other))
        return setting_differences.load_difference(*loads)


Pair = tuple[Group, Group]
"""A group of the first side and one of the second."""


def _variant(run: sides.Run) -> tuple[object, ...]:
    return run.plan.subject, tuple(run.plan.defects), tuple(run.plan.remedies)


def _of_side(side: sides.Side) -> list[Group]:
    ordered = sorted(side.runs, key=lambda run: repr(_key(run)))
    return [Group(side.label, list(runs)) for _, runs in itertools.groupby(ordered, key=_key)]


def _key(run: sides.Run) -> tuple[object, ...]:
    load = tuple(setting_differences.load_of(run.plan).items())
    return run.plan.scenario, _variant(run), run.plan.until_found, load


def jobs(group: Group) -> str:
    """Return how many runs of a group were made at once, as `--jobs` takes it."""
    found = sorted({run.plan.jobs for run in group.runs})
    return ", ".join(setting_differences.jobs_text(number) for number in found)


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
        left += _left(mine, theirs, other.label)
        left += _left(theirs, mine, one.label)
    return pairs, left


def _pairs(mine: list[Group], theirs: list[Group]) -> Iterator[Pair]:
    for group in list(mine):
        for item in theirs:
            if item.variant == group.variant and not group.load_difference(item):
                yield group, item
                break
    if len(mine) == len(theirs) == 1 and not mine[0].load_difference(theirs[0]):
        yield mine[0], theirs[0]


def _left(
    groups: Sequence[Group], others: Sequence[Group], other: str
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
        difference = group.load_difference(other)
        if difference and (other.variant == group.variant or len(others) == 1):
            return f"the load differs: {difference}"
    if others:
        return f"{label} has several subjects left, and none of them is this one"
    return f"{label} has no runs to compare it with"
