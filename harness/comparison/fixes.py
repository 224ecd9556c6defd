"""Is the second side a fix of the first? From the answers of the tests of rates, in a sentence."""

import dataclasses
from collections.abc import Sequence

import msgspec

from harness.comparison import documents, rate_comparisons
from harness.comparison.documents import Answer, FixAnswer
from harness.statistics import rates


@dataclasses.dataclass(frozen=True, slots=True)
class Compared:
    """The rates of one scenario on two sides, and what their test answered."""

    scenario: str
    first: rates.Rate
    second: rates.Rate
    answer: Answer
    unknown: int = 0
    """Runs of both sides that are neither VALID nor INVALID."""

    @property
    def is_better(self) -> bool:
        """True if the second rate is lower by more than chance."""
        return self.answer is Answer.DIFFERENT and self.second.share < self.first.share

    @property
    def is_worse(self) -> bool:
        """True if the second rate is higher by more than chance."""
        return self.answer is Answer.DIFFERENT and not self.is_better


def fix(
    labels: tuple[str, str],
    compared: Sequence[Compared],
    *,
    is_worse_overall: bool | None,
    unread: Sequence[str] = (),
) -> documents.Fix:
    """Return the answer about two sides, which have at least one scenario in common.

    `is_worse_overall`: the answer of the test of all scenarios at once; None: it finds no
    difference, or there is one scenario only. `unread`: labels of sides with runs that cannot be
    read; they could have any verdict, so that no fix is shown to work.
    """
    answer = _answer(compared, is_worse_overall=is_worse_overall)
    if unread and answer is FixAnswer.WORKS:
        answer = FixAnswer.NOT_SHOWN
    return documents.Fix(
        first=labels[0],
        second=labels[1],
        answer=answer,
        confidence=rate_comparisons.CONFIDENCE,
        text=_text(answer, labels, compared, unread) + _unknown(compared),
    )


def doubted(fix: documents.Fix, doubts: Sequence[str]) -> documents.Fix:
    """Return the answer with what speaks against it; with any doubt, nothing is shown."""
    if not doubts:
        return fix
    text = "; ".join([f"not shown that {fix.second} fixes {fix.first}", *doubts])
    return msgspec.structs.replace(fix, answer=FixAnswer.NOT_SHOWN, text=text)


def _answer(compared: Sequence[Compared], *, is_worse_overall: bool | None) -> FixAnswer:
    if is_worse_overall or any(item.is_worse for item in compared):
        return FixAnswer.WORSE
    if is_worse_overall is False or any(item.is_better for item in compared):
        return FixAnswer.WORKS
    return FixAnswer.NOT_SHOWN


def _text(
    answer: FixAnswer,
    labels: tuple[str, str],
    compared: Sequence[Compared],
    unread: Sequence[str],
) -> str:
    first, second = labels
    confidence = f"{rate_comparisons.CONFIDENCE:.0%} confidence".replace("%", " %")
    if answer is FixAnswer.NOT_SHOWN and unread:
        return f"not shown that {second} fixes {first}: runs of {' and '.join(unread)} could not be read"
    if answer is FixAnswer.NOT_SHOWN:
        return f"not shown that {second} fixes {first}: {_why_not(labels, compared)}"
    word = "less" if answer is FixAnswer.WORKS else "more"
    verb = "the fix works" if answer is FixAnswer.WORKS else "no fix"
    said = f"{verb}: {second} is INVALID {word} often than {first} ({confidence})"
    deciding = [item for item in compared if item.is_better or item.is_worse]
    if answer is FixAnswer.WORSE:
        deciding = [item for item in compared if item.is_worse]
    if not deciding:
        return f"{said}, over {len(compared)} scenarios and subjects together"
    more = f"; {len(deciding) - 1} more scenarios" if len(deciding) > 1 else ""
    return f"{said}: {_shares(labels, deciding[0])}; {_fall(deciding[0])}{more}"


def _unknown(compared: Sequence[Compared]) -> str:
    """Return how many runs have no part in the answer; empty if all have."""
    unknown = sum(item.unknown for item in compared)
    noun = "run is" if unknown == 1 else "runs are"
    return f"; {unknown} {noun} UNKNOWN and not counted" if unknown else ""


def _shares(labels: tuple[str, str], item: Compared) -> str:
    counted = rate_comparisons.counted
    return f"{item.scenario}, {labels[0]} {counted(item.first)}, {labels[1]} {counted(item.second)}"


def _fall(item: Compared) -> str:
    """Return how much the rate changes: the exact interval, without what the test excludes."""
    low, high = rates.fall(item.first, item.second)
    word, least, most = ("rises", -high, -low) if item.is_worse else ("falls", low, high)
    least_text = rates.lower(least * 100) if least > 0 else "more than 0"
    return f"the rate {word} by {least_text} to {rates.upper(most * 100)} percentage points"


def _why_not(labels: tuple[str, str], compared: Sequence[Compared]) -> str:
    if len(compared) > 1:
        return f"no lower rate is shown in {len(compared)} scenarios and subjects"
    (item,) = compared
    if not (item.first.runs and item.second.runs):
        return "a side has no run that is VALID or INVALID"
    is_few = min(item.first.runs, item.second.runs) < rate_comparisons.RUNS_MIN
    few = f" (fewer than {rate_comparisons.RUNS_MIN} runs on a side show nothing)" * is_few
    return f"{_shares(labels, item)}{few}"
