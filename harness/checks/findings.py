"""Makes a check's answer from its findings: exact counts; the first, worst and last in full.

More of them are listed by their summaries, up to a limit. Answers of plug-ins in plain values are
validated first.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Annotated, TypeAlias

import msgspec

from harness import errors
from harness.checks import protocol, verdicts
from harness.extensions import contracts

IN_FULL_MAX = 20
"""Violations that are listed in full; the worst and the last one may come on top."""
OTHERS_MAX = 200
"""Violations that are listed by their summaries."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A violation that a check has found."""

    summary: str
    text: str
    """One sentence without its period."""
    versions: Sequence[int] = ()
    """The resourceVersions that show it."""
    objects: Sequence[verdicts.InvolvedObject]
    weight: int | Fraction = 1
    """How bad it is, compared with others of the same check."""

    def violation(self, check: str) -> verdicts.Violation:
        return verdicts.Violation(
            guarantee=check,
            summary=self.summary,
            text=f"{self.text}.",
            resource_versions=sorted(set(self.versions)),
            objects=list(self.objects),
        )


def about(
    named: verdicts.Named,
    what: str,
    told: str = "",
    *,
    versions: Sequence[int] = (),
    beside: Iterable[verdicts.InvolvedObject] = (),
    weight: int = 1,
) -> Finding:
    """Return a finding about a claim or pod, which is followed by `what` and in full by `told`."""
    kind = named.kind.removeprefix("Resource")
    return Finding(
        summary=f"{kind.lower()} {named.name} {what}",
        text=f"{kind} {named} {told or what}",
        versions=versions,
        objects=[named.involved, *beside],
        weight=weight,
    )


def answer(
    check: protocol.Check, *, examined: int, what: str, found: Sequence[Finding]
) -> verdicts.Answer:
    """Return INVALID with the findings, VALID without any, or that nothing was examined.

    `what` was examined: a plural noun. Findings are listed in the order of their versions.
    """
    if not examined and not found:
        return check.not_examined(f"no {what} were observed, so nothing was examined")
    ordered = sorted(found, key=lambda item: (min(item.versions), item.summary))
    figures = f"{what}: {examined}"
    reason = f"{first(ordered)}; {figures}" if found else f"{figures}, none against it"
    return result(check, ordered, examined=examined, reason=reason, worst=worst(ordered))


def judged(
    check: protocol.Check, found: Sequence[Finding], *, examined: int, good: str, unless: str = ""
) -> verdicts.CheckResult:
    """Return INVALID with the findings, whose reason is the first one; without any, VALID.

    `good` is the reason of VALID; a reason `unless` makes UNKNOWN of it.
    """
    reason = first(found) if found else unless or good
    return result(check, found, examined=examined, reason=reason, is_kept=not unless)


def result(
    check: protocol.Check,
    found: Sequence[Finding],
    *,
    examined: int,
    reason: str,
    is_kept: bool = True,
    worst: int | None = None,
) -> verdicts.CheckResult:
    """Return INVALID with the findings, in this order; without any, VALID if `is_kept`.

    The first ones are told in full; with the position of the worst one, this and the last one, too.
    """
    return of_many(
        check,
        len(found),
        lambda index: found[index].violation(check.name),
        summary=lambda index: found[index].summary,
        examined=examined,
        reason=reason,
        is_kept=is_kept,
        worst=worst,
    )


def of_many(
    check: protocol.Check,
    count: int,
    violation: Callable[[int], verdicts.Violation],
    *,
    summary: Callable[[int], str],
    examined: int,
    reason: str,
    is_kept: bool = True,
    worst: int | None = None,
    unexamined: int = 0,
) -> verdicts.CheckResult:
    """Return a result as `result` does; only those violations are made that it lists."""
    chosen = in_full(count, worst)
    shown = range(min(count, IN_FULL_MAX + OTHERS_MAX + 2))
    others = [summary(index) for index in shown if index not in chosen]
    return verdicts.CheckResult(
        check=check.name,
        promise=check.promise,
        verdict=verdict(count, is_kept=is_kept),
        examined_count=examined,
        violation_count=count,
        violations=[violation(index) for index in chosen],
        others=others[:OTHERS_MAX],
        reason=reason,
        unexamined_count=unexamined,
    )


def verdict(count: int, *, is_kept: bool) -> verdicts.Verdict:
    """Return INVALID with violations; without any, VALID if the guarantee was seen to be kept."""
    if count:
        return verdicts.Verdict.INVALID
    return verdicts.Verdict.VALID if is_kept else verdicts.Verdict.UNKNOWN


def in_full(count: int, worst: int | None) -> list[int]:
    """Return the positions of the first violations, the worst and the last one, in order.

    `worst` is the position of the worst one; None: only the first ones are told in full.
    """
    first_ones = range(min(IN_FULL_MAX, count))
    if worst is None or not count:
        return list(first_ones)
    return sorted({*first_ones, worst, count - 1})


def first(found: Sequence[Finding | verdicts.Violation]) -> str:
    return and_more(found[0].summary, len(found))


def and_more(told: str, count: int) -> str:
    """Return the text about the first of several, and how many more there are."""
    return told + f", and {count - 1} more" * (count > 1)


def wrong_of(count: int, examined: str, worst: int, summary: Callable[[int], str]) -> str:
    """Return how many of what was `examined` are wrong, with the first, the worst, and the last."""
    parts = [f"{count} of {examined} wrong, the first: {summary(0)}"]
    if worst:
        parts.append(f"the worst: {summary(worst)}")
    if count - 1 not in (0, worst):
        parts.append(f"the last: {summary(count - 1)}")
    return "; ".join(parts)


def worst(found: Sequence[Finding]) -> int:
    """Return the position of the first of the worst findings; 0 without any."""
    return max(range(len(found)), key=lambda index: found[index].weight, default=0)


# ------------------------------------------------------------------------- plain answers
NOT_ASKED = "the plan does not ask for it"
VIOLATIONS_MAX = 10_000
"""Violations in one answer; a check that finds more may leave some out."""
Line: TypeAlias = Annotated[
    str, msgspec.Meta(min_length=1, max_length=400, pattern=r"^[^\n\r]*\S[^\n\r]*$")
]
Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=20_000)]
Word: TypeAlias = Annotated[str, msgspec.Meta(max_length=400)]
Version: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class PlainObject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An API object in a violation."""

    kind: Line
    name: Line
    namespace: Word
    uid: Word


class PlainViolation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A violation that a plug-in reports."""

    summary: Line
    text: Text
    resource_versions: list[Version]
    objects: list[PlainObject]


class PlainAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The answer of a plug-in check, with its promise."""

    promise: Line
    examined: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
    violations: Annotated[list[PlainViolation], msgspec.Meta(max_length=VIOLATIONS_MAX)]
    reason: Annotated[str, msgspec.Meta(max_length=2000)]


def decode_plain(content: bytes, plugin: str) -> PlainAnswer:
    """Return an answer. Raises PluginError if it is none, or contradicts itself."""
    try:
        answer = msgspec.json.decode(content, type=PlainAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise errors.PluginError(
            f"expected {plugin} to return a harness.api.CheckAnswer with proper fields ({error})"
        ) from error
    if answer.violations and not answer.examined:
        raise errors.PluginError(
            f"expected {plugin} to have examined what it found violations in, got "
            f"{len(answer.violations)} violations in nothing examined"
        )
    return answer


def asked(check: protocol.Check, evidence: protocol.Evidence) -> verdicts.Answer:
    """Return what a check says of the evidence. Raises what the check raises."""
    if not check.applies(evidence.plan):
        return check.not_examined(NOT_ASKED)
    answer = check.judge(evidence.of(check))
    if not isinstance(answer, contracts.CheckAnswer):
        return answer
    content = msgspec.json.encode({**dataclasses.asdict(answer), "promise": check.promise})
    return of_plain(check, decode_plain(content, check.name))


def of_plain(check: protocol.Check, answer: PlainAnswer, origin: str = "") -> verdicts.Answer:
    whose = f" ({origin})" if origin else ""
    if not answer.examined:
        return check.not_examined(f"{answer.reason or 'it examined nothing'}{whose}")
    count = len(answer.violations)
    figures = f"{verdicts.counted(count, 'violation')} in {answer.examined:,} examined"
    return of_many(
        check,
        count,
        lambda index: _of_plain(check.name, answer.violations[index]),
        summary=lambda index: answer.violations[index].summary,
        examined=answer.examined,
        reason=f"{answer.reason or figures}{whose}",
    )


def _of_plain(check: str, found: PlainViolation) -> verdicts.Violation:
    return verdicts.Violation(
        guarantee=check,
        summary=found.summary,
        text=found.text or found.summary,
        resource_versions=sorted(set(found.resource_versions)),
        objects=[
            verdicts.InvolvedObject(
                kind=item.kind, namespace=item.namespace, name=item.name, uid=item.uid
            )
            for item in found.objects
        ],
    )
