"""Makes a check's answer from its findings: exact counts; the first, worst and last in full.

More of them are listed by their summaries, up to a limit.
"""

from collections.abc import Callable, Sequence

import msgspec

from harness.checks import protocol, verdicts

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
    weight: int = 1
    """How bad it is, compared with others of the same check."""

    def violation(self, check: str) -> verdicts.Violation:
        return verdicts.Violation(
            guarantee=check,
            summary=self.summary,
            text=f"{self.text}.",
            resource_versions=sorted(set(self.versions)),
            objects=list(self.objects),
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
    check: protocol.Check,
    found: Sequence[Finding],
    *,
    examined: int,
    good: str,
    unless: str = "",
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
    """Return the summary of the first finding, and how many more there are."""
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
