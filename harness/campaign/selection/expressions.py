"""The expressions of `-k`: words with `and`, `or`, `not` and parentheses, as pytest has them.

A word selects the runs whose id, such as `pod-churn[correct-0]`, contains it, in upper or lower
case. The name of a purpose (subject, control, hazard, remedy) or the number of a hazard (H3) must
be the whole name: otherwise `control` would select `controller-down`, and H1 would select H19.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence

import msgspec

from harness import errors, suggestions
from harness.campaign import campaign_plan
from harness.campaign.purposes import Purpose

Run = campaign_plan.PlannedRun
Test = Callable[[Run], bool]
NESTED_MAX = 50
"""Most parentheses and `not` in an expression."""
_TOKEN = re.compile(r"[()]|[^\s()]+")
_HAZARD = re.compile(r"h[0-9]+")
_OPERATORS = ("and", "or", "not", "(", ")")


@dataclasses.dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression."""

    text: str
    selects: Test
    words: tuple[str, ...]


def parse(text: str) -> Expression:
    """Return the expression; raise UsageError if it is none."""
    parser = _Parser(text)
    return Expression(text, parser.whole(), tuple(dict.fromkeys(parser.words)))


def select(plan: campaign_plan.CampaignPlan, text: str) -> campaign_plan.CampaignPlan:
    """Return the plan with the selected runs only; with all of them for an empty text.

    Raises UsageError for a text that is no expression, that has a word which no run has, or that
    selects nothing.
    """
    if not text.strip():
        return plan
    expression = parse(text)
    for word in expression.words:
        _require_known(word, plan.runs)
    chosen = [run for run in plan.runs if expression.selects(run)]
    if not chosen:
        raise errors.UsageError(
            f"expected -k to select at least one of {len(plan.runs)} runs, but {text!r} selects "
            "none: --dry-run without -k lists them"
        )
    if len(chosen) == len(plan.runs):
        return plan
    numbered = [msgspec.structs.replace(run, number=at) for at, run in enumerate(chosen, start=1)]
    said = f"only {len(chosen)} of {len(plan.runs)} planned runs were to be made (-k {text!r})"
    return msgspec.structs.replace(plan, runs=numbered, selection=[*plan.selection, said])


def _matches(word: str, run: Run) -> bool:
    """Return whether a word, in lower case, selects a run."""
    if word in list(Purpose):
        return run.purpose == word
    if _HAZARD.fullmatch(word):
        return run.hypothesis.lower() == word
    return word in run.id.lower() or word in run.hypothesis.lower()


def _require_known(word: str, runs: Sequence[Run]) -> None:
    if any(_matches(word.lower(), run) for run in runs) or word.lower() in list(Purpose):
        return
    names = {name for run in runs for name in (run.title, run.hypothesis, *run.subject.split())}
    near = suggestions.did_you_mean(word, {*names, *map(str, Purpose)} - {""})
    raise errors.UsageError(
        f"expected words in -k that name a scenario, a subject, a defect, a hazard or a purpose of "
        f"the {len(runs)} planned runs, got {word!r}, which none of them has.{near or ' Correct it.'}"
    )


class _Parser:
    """A parser by recursive descent: `or` binds less than `and`, and that less than `not`."""

    def __init__(self, text: str) -> None:
        self._text, self._left = text, _TOKEN.findall(text)[::-1]
        self.words: list[str] = []
        if sum(self._left.count(sign) for sign in ("(", "not")) > NESTED_MAX:
            raise self._refusal(f"it has more than {NESTED_MAX} parentheses and `not`")

    def whole(self) -> Test:
        """Return the test of the whole text."""
        found = self._any()
        if self._left:
            raise self._refusal(f"expected `and`, `or` or the end before {self._left[-1]!r}")
        return found

    def _any(self) -> Test:
        tests = [self._all()]
        while self._take("or"):
            tests.append(self._all())
        return lambda run: any(test(run) for test in tests)

    def _all(self) -> Test:
        tests = [self._one()]
        while self._take("and"):
            tests.append(self._one())
        return lambda run: all(test(run) for test in tests)

    def _one(self) -> Test:
        if self._take("not"):
            inverted = self._one()
            return lambda run: not inverted(run)
        if self._take("("):
            inside = self._any()
            if not self._take(")"):
                raise self._refusal("a parenthesis is not closed")
            return inside
        return self._word()

    def _word(self) -> Test:
        if not self._left or self._left[-1] in _OPERATORS:
            where = f"before {self._left[-1]!r}" if self._left else "at the end"
            raise self._refusal(f"a word is missing {where}")
        word = self._left.pop()
        self.words.append(word)
        return lambda run: _matches(word.lower(), run)

    def _take(self, token: str) -> bool:
        is_next = self._left[-1:] == [token]
        del self._left[len(self._left) - is_next :]
        return is_next

    def _refusal(self, why: str) -> errors.UsageError:
        return errors.UsageError(
            "expected -k with words, `and`, `or`, `not` and parentheses, such as "
            f"'pod-churn and not control', got {self._text!r:.100}: {why}"
        )
