"""Verdicts, check results, and the violations they carry."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from harness.model import answers

Verdict = answers.Verdict
worst = answers.worst
SCHEMA_VERSION = answers.SCHEMA_VERSION
LEFT_OUT = "left out"
"""How the reason of a result ends that leaves out what others have written."""


class InvolvedObject(msgspec.Struct, frozen=True, kw_only=True):
    """An API object that takes part in a violation."""

    kind: str
    """`ResourceClaim`, `Pod`, …"""
    namespace: str
    """Empty for cluster-scoped objects."""
    name: str
    uid: str
    """Empty if the check does not know it."""


class Named:
    """An object that a check names: a claim, or an object of another `kind`."""

    __slots__ = ()
    kind = "ResourceClaim"
    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} (uid {self.uid})"

    @property
    def involved(self) -> InvolvedObject:
        return InvolvedObject(
            kind=self.kind, namespace=self.namespace, name=self.name, uid=self.uid
        )


class FaultEffect(msgspec.Struct, frozen=True, kw_only=True):
    """The effect of a fault on an object or process of a violation."""

    fault: str
    """Name of the fault, as in plan.json."""
    kind: str
    """Kind of the fault: `lose-response`, …"""
    object: str
    """`ResourceClaim <namespace>/<name>`, or the name of a process."""
    resource_version: int
    """Version of the object that was hit; 0: unknown."""
    begun_ns: int
    ended_ns: int | None
    """Monotonic times, for display only; None: it did not end."""
    text: str
    """A clause with the fault's name."""


class Violation(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of evidence that a guarantee is broken.

    A check whose violations need further fields defines a subclass. verdict.json contains all
    fields of the subclass; the report, JUnit and the terminal need only those of this class.
    """

    guarantee: str
    """Name of the broken guarantee: the name of the check."""
    summary: str
    """One short line."""
    text: str
    """Full account for people."""
    resource_versions: Sequence[int]
    """The commits that show the violation, ascending."""
    objects: Sequence[InvolvedObject]
    faults: Sequence[FaultEffect] = []
    """Effects of faults that explain it; see `fault_attribution`."""
    attribution: str = ""
    """The faults that explain it, in a sentence; empty in a run without faults."""
    schedulers: str = ""
    """The schedulers behind it, in a sentence; empty in a run with one scheduler."""


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a double allocation: a claim and the interval in which it held the device."""

    uid: str
    namespace: str
    name: str
    held_from_rv: int
    held_until_rv: int | None
    """None: to the end of the history."""
    pods: list[str]
    """Names of the pods in `status.reservedFor` while the claim held the device."""
    allocated_ts_ns: int
    """Monotonic time at which the recorder saw the allocation; for display only."""
    released_ts_ns: int | None
    """Monotonic time at which the recorder saw the release; None: never. For display only."""
    scheduler: str = ""
    """The scheduler that allocated it; empty: unknown, or the run has only one."""


class DoubleAllocation(Violation, frozen=True, kw_only=True):
    """Two claims held one device at once."""

    device: str
    """`driver/pool/device`"""
    overlap_from_rv: int
    overlap_until_rv: int | None
    """None: to the end of the history."""
    holders: list[Holder]
    """Exactly two, the earlier one first."""


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one check."""

    check: str
    promise: str
    """The guarantee as a clause: `no device is held by two claims at once`"""
    verdict: Verdict
    examined_count: int
    """Number of things examined; a check that examined nothing is UNKNOWN."""
    violation_count: int
    """Exact, even if not all violations are listed."""
    violations: Sequence[Violation]
    """Violations in full: the first ones, the longest and the last."""
    others: Sequence[str]
    """Summaries of further violations, up to a limit."""
    reason: str
    """One line with figures."""
    unexamined_count: int = 0
    """Number of things that the guarantee is about, and that were not examined, or not in full."""

    @property
    def is_vacuous(self) -> bool:
        """True if there was nothing of what the guarantee is about."""
        is_empty = not self.examined_count and not self.violation_count
        return self.verdict is Verdict.UNKNOWN and is_empty and self.reason.startswith("no ")

    def without_violations(self, verdict: Verdict, reason: str) -> "CheckResult":
        return msgspec.structs.replace(
            self, verdict=verdict, violation_count=0, violations=[], others=[], reason=reason
        )

    def in_doubt(self, why: str) -> "CheckResult":
        count = self.violation_count
        told = f"{count:,} violation{'s' * (count != 1)} would follow, but {why}"
        return self.without_violations(Verdict.UNKNOWN, told)

    def as_not_examined(self) -> "NotExamined":
        return NotExamined(check=self.check, promise=self.promise, reason=self.reason)


class NotExamined(msgspec.Struct, frozen=True, kw_only=True):
    """A guarantee that a run said nothing about: neither kept nor broken."""

    check: str
    promise: str
    """The guarantee as a clause."""
    reason: str
    """Why nothing was examined, in one line: `no …` if there was nothing of that kind."""

    @property
    def is_vacuous(self) -> bool:
        """True if there was nothing of what the guarantee is about."""
        return self.reason.startswith("no ")

    def as_unknown(self) -> CheckResult:
        return CheckResult(
            check=self.check,
            promise=self.promise,
            verdict=Verdict.UNKNOWN,
            examined_count=0,
            violation_count=0,
            violations=[],
            others=[],
            reason=self.reason,
        )


class CertificateItem(msgspec.Struct, frozen=True, kw_only=True):
    """A question about the evidence of a run, and its answer."""

    name: str
    question: str
    ok: bool
    reason: str
    """The answer as text, with figures."""
    needed: bool = True
    """False if the verdict needs no yes: a violation ended the run before its planned end."""


Answer: TypeAlias = CheckResult | NotExamined
"""The answer of a check."""


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def meant_pairs(pairs: int, allocations: int) -> str:
    """Return what is counted, in brackets, where that is more than there are allocations.

    A device that five claims hold at once is ten double allocations.
    """
    meaning = " (pairs of claims that held one device at the same time)"
    return meaning if pairs > allocations else ""


def double_allocations(results: Iterable[CheckResult]) -> list[DoubleAllocation]:
    return [
        violation
        for result in results
        for violation in result.violations
        if isinstance(violation, DoubleAllocation)
    ]
