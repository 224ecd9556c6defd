"""Judges allocations: a question for each grant, asked again only if more was known.

The answer depends on the grant and on what slices, classes and nodes had said by then. Both are the
same for most allocations, so that a million of them need only as many answers as there are
different grants.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from harness.checks import findings, protocol, verdicts
from harness.checks.devices import allocations, device_catalogue
from harness.checks.observed import observations
from harness.history import plans


@dataclasses.dataclass(frozen=True, slots=True)
class Wrong:
    """A mistake in an allocation."""

    text: str
    """A clause: `request gpu got 1 device instead of 2`."""
    weight: int = 1
    """How many devices or requests are concerned: the worst violation has most."""


def wrong(texts: Iterable[str]) -> Wrong | None:
    """Return the mistakes as one; None without any."""
    told = list(texts)
    return Wrong("; ".join(told), weight=len(told)) if told else None


@dataclasses.dataclass(frozen=True, slots=True)
class Unjudged:
    """Why an allocation is not examined."""

    reason: str
    """A clause: `of a device no slice was observed`."""
    is_vacuous: bool = False
    """The guarantee is not about the allocation."""


Answer: TypeAlias = Wrong | Unjudged | None
"""None: nothing is wrong."""
UNKNOWN_DEVICE = Unjudged("a device was in no slice that was observed")
UNKNOWN_REQUEST = Unjudged("a result names a request that its claim lacks")
CHANGED_OFTEN = Unjudged("the devices were changed too often to try all versions")
COMBINATIONS_MAX = 64
"""Combinations of versions of devices that are tried."""
Ask: TypeAlias = Callable[[allocations.Grant, device_catalogue.DeviceCatalogue, int], Answer]
"""Judges a grant with what the catalogue knew before a resourceVersion."""
NOTHING = "no allocation was observed"
"""The reason if there is nothing to examine."""
Rows: TypeAlias = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class Questions:
    """The allocations of a run, with what was known when each was made."""

    NEEDS: ClassVar[tuple[type, ...]] = (
        allocations.Allocations,
        device_catalogue.DeviceCatalogue,
    )

    made: allocations.Allocations = dataclasses.field(default_factory=allocations.Allocations)
    catalogue: device_catalogue.DeviceCatalogue = dataclasses.field(
        default_factory=device_catalogue.DeviceCatalogue
    )

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Questions":
        return cls(evidence[allocations.Allocations], evidence[device_catalogue.DeviceCatalogue])

    @functools.cached_property
    def versions(self) -> Rows:
        return np.asarray(self.made.versions, dtype=np.int64)

    @functools.cached_property
    def _different(self) -> tuple[Rows, Rows]:
        """The first allocation of each grant in each state of the catalogue; of each, its index."""
        news = np.array(self.catalogue.news, dtype=np.int64)
        grants = np.asarray(self.made.grant_numbers, dtype=np.int64)
        keys = grants * (len(news) + 1) + np.searchsorted(news, self.versions, side="left")
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        return first, which.astype(np.int64)

    def ask(self, judge: Ask) -> "Findings":
        """Ask about each grant, once for each state of the catalogue in which it was made."""
        first, which = self._different
        made, known = self.made, self.catalogue
        return Findings(
            [judge(made.grant(row), known, made.versions[row]) for row in first],
            which,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Findings:
    """The answers about all allocations."""

    answers: Sequence[Answer]
    which: Rows
    """The index of the answer of each allocation."""

    def rows(self, kind: type[Wrong] | type[Unjudged]) -> Rows:
        return self._rows([isinstance(answer, kind) for answer in self.answers])

    def replaced(self, rows: Rows, answer: Callable[[int], Answer]) -> "Findings":
        """Return the answers with others about these allocations."""
        answers, which = list(self.answers), self.which.copy()
        for row in rows.tolist():
            which[row] = len(answers)
            answers.append(answer(row))
        return Findings(answers, which)

    def worst(self, rows: Rows) -> int:
        """Return the position of the first of those with most wrong devices; 0 without any."""
        weights = np.array([getattr(answer, "weight", 0) for answer in self.answers])
        return int(weights[self.which[rows]].argmax()) if len(rows) else 0

    def first_reason(self, rows: Rows) -> str:
        """Return why the first of these allocations is not examined; empty without any."""
        return getattr(self.answers[self.which[rows[0]]], "reason", "") if len(rows) else ""

    def unjudged(self) -> tuple[Rows, Rows]:
        """Return the allocations that the guarantee is not about, and others not examined."""
        vacuous = [isinstance(item, Unjudged) and item.is_vacuous for item in self.answers]
        left = [isinstance(item, Unjudged) and not item.is_vacuous for item in self.answers]
        return self._rows(vacuous), self._rows(left)

    def _rows(self, chosen: Sequence[bool]) -> Rows:
        flags = np.array(chosen, dtype=bool)
        return np.flatnonzero(flags[self.which]) if len(self.answers) else self.which


def is_tried(devices: Iterable[Sequence[device_catalogue.KnownDevice]]) -> bool:
    """Return whether all combinations of versions of devices are tried; else `CHANGED_OFTEN`."""
    return math.prod(map(len, devices)) <= COMBINATIONS_MAX


def applies(plan: plans.Plan) -> bool:
    """Return whether runs with this plan owe guarantees about devices: those with slices do."""
    return observations.SLICES in plan.resources


def of_each(
    *,
    name: str,
    guarantee: str,
    promise: str,
    good: str,
    ask: Ask,
    rests_on: Sequence[str] = (),
    applies: Callable[[plans.Plan], bool] | None = None,
    nothing: str = NOTHING,
) -> protocol.Check:
    """Return a check that asks about each allocation; NotExamined if there were none.

    The answers rest on what the catalogue knows of the resources `rests_on`: runs that do not
    observe them do not owe the guarantee (unless `applies` says otherwise), and if versions of one
    of them may be missing, nothing is examined. `good` and `nothing` as in `result`.
    """
    observed = {observations.SLICES, *rests_on}

    def judge(evidence: protocol.Evidence) -> verdicts.Answer:
        questions = evidence[Questions]
        gaps = sorted(questions.catalogue.gaps.intersection(rests_on))
        if gaps:
            return not_examined(check, f"versions of {', '.join(gaps)} may be missing")
        return result(check, questions, questions.ask(ask), good=good, nothing=nothing)

    check = protocol.Check(
        name=name,
        guarantee=guarantee,
        promise=promise,
        applies=applies or (lambda plan: observed <= set(plan.resources)),
        needs=(Questions,),
        judge=judge,
    )
    return check


def result(
    check: protocol.Check,
    questions: Questions,
    found: Findings,
    *,
    good: str,
    nothing: str = NOTHING,
) -> verdicts.Answer:
    """Return the result of a check from its answers.

    `good` is the figure if nothing is wrong (`all devices match`), `nothing` the reason if there
    is nothing to examine.
    """
    wrong = found.rows(Wrong)
    wrong = wrong[np.argsort(questions.versions[wrong], kind="stable")]
    vacuous, unjudged = found.unjudged()
    examined = len(questions.made) - len(unjudged) - len(vacuous)
    why = found.first_reason(unjudged)
    if not examined:
        return not_examined(check, why or nothing)
    worst = found.worst(wrong)

    def finding(index: int) -> findings.Finding:
        return _finding(questions.made, found, int(wrong[index]))

    told = f"{verdicts.counted(examined, 'allocation')} examined; {good}"
    if len(wrong):
        told = _told(len(wrong), examined, worst, lambda index: finding(index).summary)
    left = f"; {len(unjudged)} not examined: {why}" if len(unjudged) else ""
    return findings.of_many(
        check,
        len(wrong),
        lambda index: finding(index).violation(check.name),
        summary=lambda index: finding(index).summary,
        examined=examined,
        reason=told + left,
        worst=worst,
        unexamined=len(unjudged),
    )


def not_examined(check: protocol.Check, why: str) -> verdicts.NotExamined:
    """Return the answer of a check for which there was nothing."""
    return check.not_examined(f"{why}, so nothing was examined")


def _told(count: int, examined: int, worst: int, summary: Callable[[int], str]) -> str:
    of = verdicts.counted(examined, "allocation")
    parts = [f"{count} of {of} wrong, the first: {summary(0)}"]
    if worst:
        parts.append(f"the worst: {summary(worst)}")
    if count - 1 not in (0, worst):
        parts.append(f"the last: {summary(count - 1)}")
    return "; ".join(parts)


def _finding(made: allocations.Allocations, found: Findings, row: int) -> findings.Finding:
    claim, version = made.claims[row], made.versions[row]
    got = ", ".join(dict.fromkeys(item.id for item in made.grant(row).results)) or "no device"
    clause = getattr(found.answers[found.which[row]], "text", "")
    return findings.Finding(
        summary=f"claim {claim.name}: {clause}",
        text=(
            f"Claim {claim.namespace}/{claim.name} (uid {claim.uid}) was allocated {got} at "
            f"resourceVersion {version}: {clause}"
        ),
        versions=[version],
        objects=[verdicts.involved_claim(claim)],
    )
