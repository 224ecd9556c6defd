"""Judges allocations: a question for each grant, asked again only if more was known.

A grant is what a claim asked for together with what it got. The answer depends on the grant and on
what slices, classes and nodes had said by then. Both are the same for most allocations, because
most claims come from templates, so that a million of them need only as many answers as there are
different grants.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from harness.checks import findings, protocol, verdicts
from harness.checks.devices import device_catalogue
from harness.checks.holds import claim_events, hold_history
from harness.checks.observed import observations, observed_claims

Grant: TypeAlias = claim_events.Grant


Version = TypeVar("Version")


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


def joined(items: Sequence[Wrong]) -> Wrong | None:
    """Return several mistakes as one; None without any."""
    text = "; ".join(dict.fromkeys(item.text for item in items))
    return Wrong(text, weight=sum(item.weight for item in items)) if items else None


class Unjudged(Exception):  # noqa: N818 - an answer, not an error
    """An allocation is not examined; the message is a clause: `its class was not observed`."""

    def __init__(self, reason: str, *, is_vacuous: bool = False) -> None:
        """`is_vacuous`: the guarantee is not about the allocation."""
        super().__init__(reason)
        self.is_vacuous = is_vacuous


Answer: TypeAlias = Wrong | Unjudged | None
"""None: nothing is wrong."""
COMBINATIONS_MAX = 64
"""Combinations of versions of devices that are tried."""
NOTHING = "no allocation was observed"
"""The reason if there is nothing to examine."""
UNKNOWN_REQUEST = "a result names a request that its claim lacks"
Rows: TypeAlias = npt.NDArray[np.int64]


class Case(NamedTuple):
    """A grant to judge with what the catalogue knew before a resourceVersion."""

    grant: Grant
    catalogue: device_catalogue.DeviceCatalogue
    version: int

    def known(self, device: str) -> list[device_catalogue.KnownDevice]:
        """Return the versions of a device. Raises Unjudged without any."""
        found = self.catalogue.devices(device, self.version)
        if not found:
            raise Unjudged("a device was in no slice that was observed")
        return found


Ask: TypeAlias = Callable[[Case], Wrong | None]
"""Judges a case. May raise Unjudged."""


def combined(devices: Sequence[Sequence[Version]]) -> Iterator[tuple[Version, ...]]:
    """Yield all combinations of versions of devices. Raises Unjudged if there are too many."""
    if math.prod(map(len, devices)) > COMBINATIONS_MAX:
        raise Unjudged("the devices were changed too often to try all versions")
    return itertools.product(*devices)


def chosen(grant: Grant) -> dict[str, observed_claims.ExactRequest]:
    """Return what the results are for, by the names that they use. Raises Unjudged if the claim has
    no such request."""
    options = grant.spec.options
    if any(result.request not in options for result in grant.results):
        raise Unjudged(UNKNOWN_REQUEST)
    return {result.request: options[result.request] for result in grant.results}


class Allocations:
    """All allocations in the order in which they were observed, with what was known by then.

    An allocation that changes in place counts as another one.
    """

    NEEDS: ClassVar[tuple[type, ...]] = (hold_history.HoldHistory, device_catalogue.DeviceCatalogue)

    def __init__(
        self, history: hold_history.HoldHistory, catalogue: device_catalogue.DeviceCatalogue
    ) -> None:
        events, lives = history.events, list(history.claims.values())
        columns = events.columns()
        observed = np.flatnonzero(columns.content != claim_events.VANISHED)
        claim, content = columns.claim[observed], columns.content[observed]
        is_new = content != 0
        is_new[1:] &= (content[1:] != content[:-1]) | (claim[1:] != claim[:-1])
        rows = observed[is_new]
        rows = rows[np.argsort(columns.event[rows])]
        self.catalogue, self.grants = catalogue, events.grants
        self.claims = [lives[number] for number in columns.claim[rows].tolist()]
        """One value for each allocation, as in all columns that follow."""
        self.numbers: Rows = columns.grant[rows].astype(np.int64)
        """Indexes of `grants`."""
        self.versions, self.times_ns = events.begins(columns.event[rows])
        """The resourceVersion that allocated, and the monotonic time of the recorder."""

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "Allocations":
        return cls(evidence[hold_history.HoldHistory], evidence[device_catalogue.DeviceCatalogue])

    def grant(self, row: int) -> Grant:
        return self.grants[int(self.numbers[row])]

    @functools.cached_property
    def _different(self) -> tuple[Rows, Rows]:
        """The first allocation of each grant in each state of the catalogue; of each, its index."""
        news = np.array(self.catalogue.news, dtype=np.int64)
        keys = self.numbers * (len(news) + 1) + np.searchsorted(news, self.versions, side="left")
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        return first, which.astype(np.int64)

    def ask(self, judge: Ask) -> "Answers":
        """Ask about each grant, once for each state of the catalogue in which it was made."""
        first, which = self._different
        return Answers([self._answer(judge, row) for row in first.tolist()], which)

    def _answer(self, judge: Ask, row: int) -> Answer:
        try:
            return judge(Case(self.grant(row), self.catalogue, int(self.versions[row])))
        except Unjudged as why:
            return why.with_traceback(None)


@dataclasses.dataclass(frozen=True, slots=True)
class Answers:
    """The answers about all allocations."""

    different: Sequence[Answer]
    which: Rows
    """The index of the answer of each allocation."""

    def of(self, row: int) -> Answer:
        answer: Answer = self.different[self.which[row]]
        return answer

    def rows(self, is_meant: Callable[[Answer], bool]) -> Rows:
        flags = np.array([is_meant(answer) for answer in self.different], dtype=bool)
        return np.flatnonzero(flags[self.which]) if len(flags) else self.which

    def replaced(self, rows: Rows, answer: Callable[[int], Answer]) -> "Answers":
        different, which = list(self.different), self.which.copy()
        for row in rows.tolist():
            which[row] = len(different)
            different.append(answer(row))
        return Answers(different, which)

    def worst(self, rows: Rows) -> int:
        """Return the position of the first of those with most wrong devices; 0 without any."""
        weights = np.array([getattr(answer, "weight", 0) for answer in self.different])
        return int(weights[self.which[rows]].argmax()) if len(rows) else 0


def asking(ask: Ask) -> Callable[[protocol.Evidence], Answers]:
    """Return the answers of a check that asks about each grant."""
    return lambda evidence: evidence[Allocations].ask(ask)


def of_each(
    *,
    name: str,
    guarantee: str,
    promise: str,
    good: str,
    answers: Callable[[protocol.Evidence], Answers],
    needs: Sequence[protocol.Kind] = (),
    rests_on: Sequence[str] = (),
    nothing: str = NOTHING,
) -> protocol.Check:
    """Return a check of each allocation; NotExamined if there were none.

    The answers rest on what the catalogue knows of the resources `rests_on`: runs that do not
    observe them do not owe the guarantee, and if versions of one of them may be missing, nothing is
    examined. `good` and `nothing` as in `result`; `needs` is what `answers` asks for beside.
    """
    observed = {observations.SLICES, *rests_on}

    def judge(evidence: protocol.Evidence) -> verdicts.Answer:
        allocations = evidence[Allocations]
        gaps = sorted(allocations.catalogue.gaps.intersection(rests_on))
        if gaps:
            return not_examined(check, f"versions of {', '.join(gaps)} may be missing")
        return result(check, allocations, answers(evidence), good=good, nothing=nothing)

    check = protocol.Check(
        name=name,
        guarantee=guarantee,
        promise=promise,
        applies=lambda plan: observed <= set(plan.resources),
        needs=(Allocations, *needs),
        judge=judge,
    )
    return check


def result(
    check: protocol.Check,
    allocations: Allocations,
    answers: Answers,
    *,
    good: str,
    nothing: str = NOTHING,
) -> verdicts.Answer:
    """Return the result of a check from its answers.

    `good` is the figure if nothing is wrong (`all devices match`), `nothing` the reason if there
    is nothing to examine.
    """
    wrong, left, vacuous = (
        rows[np.argsort(allocations.versions[rows], kind="stable")]
        for rows in (
            answers.rows(lambda answer: isinstance(answer, Wrong)),
            answers.rows(lambda answer: isinstance(answer, Unjudged) and not answer.is_vacuous),
            answers.rows(lambda answer: isinstance(answer, Unjudged) and answer.is_vacuous),
        )
    )
    examined = len(allocations.claims) - len(left) - len(vacuous)
    why = str(answers.of(left[0])) if len(left) else ""
    if not examined:
        return not_examined(check, why or nothing)
    worst = answers.worst(wrong)

    def finding(index: int) -> findings.Finding:
        row = int(wrong[index])
        return _finding(allocations, row, getattr(answers.of(row), "text", ""))

    of = verdicts.counted(examined, "allocation")
    told = f"{of} examined; {good}"
    if len(wrong):
        told = findings.wrong_of(len(wrong), of, worst, lambda index: finding(index).summary)
    return findings.of_many(
        check,
        len(wrong),
        lambda index: finding(index).violation(check.name),
        summary=lambda index: finding(index).summary,
        examined=examined,
        reason=told + (f"; {len(left)} not examined: {why}" if why else ""),
        worst=worst,
        unexamined=len(left),
    )


def not_examined(check: protocol.Check, why: str) -> verdicts.NotExamined:
    return check.not_examined(f"{why}, so nothing was examined")


def _finding(made: Allocations, row: int, clause: str) -> findings.Finding:
    claim, version = made.claims[row], int(made.versions[row])
    got = ", ".join(dict.fromkeys(item.id for item in made.grant(row).results)) or "no device"
    return findings.Finding(
        summary=f"claim {claim.name}: {clause}",
        text=f"Claim {claim} was allocated {got} at resourceVersion {version}: {clause}",
        versions=[version],
        objects=[claim.involved],
    )
