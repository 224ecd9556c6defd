"""One step of a bisection: how many runs without a violation make a revision good.

A run that is INVALID proves that a revision is bad, so only a good answer can be wrong: a defect
that shows in a share of the runs may show in none of a step's. Each step has a part of the error
that the whole search may have, so that its confidence holds whatever git asks next. Steps that git
needs on a straight line have equal parts; those beyond, after skipped revisions and merges, share
one more part, each half of the one before.
"""

from collections.abc import Sequence
from typing import Literal

import msgspec

from harness import errors
from harness.statistics import power, rates
from harness.statistics.confidence_sequences import Answer, Question

QUESTION = Question(limit=0.3, confidence=0.95)
"""A defect that shows in three of ten runs is found with this confidence of the whole search."""
STEPS = 10
"""Steps of a search in 1,024 revisions, where neither git nor the user says how many there are."""
STEPS_MAX = 60
_PATIENCE = 3
"""Runs without an answer after which a step ends if no more have one."""
Sought = Literal["first bad", "first good"]
_WORDS = {"first bad": ("good", "bad"), "first good": ("fixed", "not fixed")}
VALID, INVALID = 0, 10
"""Exit codes of campaigns that decide a step; every other one decides nothing."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """The question of a step, and its part of the whole search."""

    rate: float
    """Share of the runs in which the defect shows, at least."""
    confidence: float
    """Least probability that the whole search names the right revision."""
    sought: Sought = "first bad"
    number: int = 1
    """Number of this step, from 1; skipped revisions do not count."""
    steps: int = STEPS
    """Most steps of a search in as many revisions on a straight line."""
    about: int = 0
    """Steps that are expected by now; 0: git has not said it."""
    invalid: int = 0
    """Earlier steps with an INVALID run."""
    start: str = ""
    """Identifies the search; empty: there is none that git knows of."""

    @property
    def missed_max(self) -> float:
        """Most probability with which a bad revision may be taken for a good one."""
        part = (1 - self.confidence) / (self.steps + 1)
        return part * 0.5 ** max(self.number - self.steps, 0)

    @property
    def runs(self) -> int:
        """Number of VALID runs that make a revision good."""
        return power.runs_to_see(self.rate, 1 - self.missed_max) or power.RUNS_MAX

    @property
    def runs_max(self) -> int:
        """Number of runs that a step plans, because some may be UNKNOWN."""
        return self.runs + max(self.runs, _PATIENCE)

    @property
    def missed(self) -> float:
        """Probability that a defect of this rate shows in none of the step's runs."""
        return 1 - power.seen(self.rate, self.runs)

    def answer(self, rate: rates.Rate) -> Answer:
        """Return what the conclusive runs of a revision say; `rate.failed` are INVALID."""
        if rate.failed:
            return Answer.AT_LEAST
        return Answer.BELOW if rate.runs >= self.runs else Answer.UNDECIDED

    def gives_up(self, rate: rates.Rate, inconclusive: int) -> bool:
        """Return whether a step ends without an answer."""
        return inconclusive >= max(_PATIENCE, rate.runs)


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of a scenario in a step."""

    rate: rates.Rate
    """INVALID ones among the conclusive ones."""
    inconclusive: int = 0


def steps_for(revisions: int) -> int:
    """Return the most steps in which git finds one of these revisions on a straight line."""
    return max((revisions - 1).bit_length(), 1)


def require(step: Step, runs_max: int) -> None:
    """Raise UsageError for a step that needs more runs than `runs_max`."""
    needed = power.runs_to_see(step.rate, 1 - step.missed_max)
    if needed is None or needed > runs_max:
        raise errors.UsageError(
            f"expected a bisection whose steps need at most {runs_max:,} runs, got a rate of {step.rate:g} and a "
            f"confidence of {step.confidence:g} over {step.steps} steps: raise the rate or lower the confidence"
        )


def step(question: Question, sought: Sought, **known: int | str) -> Step:
    """Return the step of a search; `known` are further fields, as far as they are known."""
    found = {name: value for name, value in known.items() if value}
    return msgspec.convert(
        {"rate": question.limit, "confidence": question.confidence, "sought": sought, **found},
        Step,
    )


def sentence(step: Step, counted: Sequence[Counted], code: int, evidence: str = "") -> str:
    """Return the answer of a step in a line, with the reason.

    `counted` has each scenario once; `code` is the exit code of the campaign, `evidence` the place
    of the run that is INVALID.
    """
    good, bad = _WORDS[step.sought]
    runs = sum(item.rate.runs + item.inconclusive for item in counted)
    valid = sum(item.rate.runs - item.rate.failed for item in counted)
    if code == INVALID:
        return f"{_place(step)}: {bad}: run {runs} is INVALID, which is proof ({evidence})"
    of_runs = f"{valid} of {runs} runs VALID"
    if code == VALID:
        return f"{_place(step)}: {good}: {of_runs}; {_promise(step)}{_doubt(step)}"
    is_enough = all(item.rate.runs >= step.runs for item in counted)
    needed = f"{step.runs * len(counted)} needed"
    why = "but a control was not caught" if is_enough else needed
    return f"{_place(step)}: cannot tell: {of_runs}, {why}"


def _place(step: Step) -> str:
    about = f" of about {max(step.about, step.number)}" if step.about else ""
    return f"step {step.number}{about}" if step.start else f"a step of at most {step.steps}"


def _promise(step: Step) -> str:
    return (
        f"a defect that shows in {_percent(step.rate)} of runs would have been missed with "
        f"{rates.upper(step.missed * 100)} %; whole chain {_percent(step.confidence)}"
    )


def _doubt(step: Step) -> str:
    """Return a warning where the search ends without evidence that the defect shows here."""
    is_last = step.start and step.number >= step.about
    if step.invalid or not is_last:
        return ""
    return "; no run of the search was INVALID: test its end with the defect by this command, too"


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"
