"""Power before a campaign as one document: a row for each rate at which runs may fail."""

from collections.abc import Sequence

import msgspec

from harness.statistics import confidence_sequences, power
from harness.statistics.confidence_sequences import Question

SCHEMA_VERSION = 1


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """How likely a number of runs shows a failure at least once."""

    runs: int
    probability: float


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """How `hunt --until-decided` goes at this rate, within a number of runs."""

    runs_max: int
    below: float
    """Probability of `below`."""
    at_least: float
    undecided: float
    mean_runs: float


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One rate at which runs fail."""

    rate: float
    runs_to_see: int | None
    """Runs in which a failure is seen with the confidence; None: more than 100,000.

    As many runs without a failure, if planned before the first, show a rate below this one.
    """
    clean_runs_until_decided: int | None
    """Runs without a failure after which `--until-decided RATE` answers `below`; None as above."""
    seen: list[Seen]
    compared_runs: int | None = None
    """Runs of each side with which `compare` finds the difference from `against`.

    None if they are too many, or no such rate was given.
    """
    course: Course | None = None
    """None unless a question was given."""


class PowerTable(msgspec.Struct, frozen=True, kw_only=True):
    """The whole document."""

    schema: int = SCHEMA_VERSION
    confidence: float
    against: float | None
    power_min: float
    """Least probability with which `compared_runs` find the difference."""
    compared_runs_max: int = power.COMPARED_MAX
    until_decided: str
    """`0.01@0.95`; empty if no question was given."""
    rows: list[Row]


def table(
    given: Sequence[float],
    *,
    confidence: float,
    runs: Sequence[int],
    against: float | None = None,
    wanted: float = 0.8,
    question: Question | None = None,
    runs_max: int = 0,
) -> PowerTable:
    """Return the table of these rates.

    `wanted` is the power of a comparison with the rate `against`; `question` and `runs_max` are
    those of a sequential decision.
    """
    return PowerTable(
        confidence=confidence,
        against=against,
        power_min=wanted,
        until_decided="" if question is None else str(question),
        rows=[
            Row(
                rate=rate,
                runs_to_see=power.runs_to_see(rate, confidence),
                clean_runs_until_decided=_clean_runs(rate, confidence),
                seen=[Seen(runs=count, probability=power.seen(rate, count)) for count in runs],
                compared_runs=None
                if against is None
                else power.runs_to_compare(rate, against, confidence=confidence, power=wanted),
                course=None if question is None else _course(question, rate, runs_max),
            )
            for rate in given
        ],
    )


def _clean_runs(rate: float, confidence: float) -> int | None:
    """Return None where rates below cannot be, or are not shown within RUNS_MAX runs."""
    if not 0 < rate < 1 or power.runs_to_see(rate, confidence) is None:
        return None
    return power.clean_runs(confidence_sequences.Question(rate, confidence))


def _course(question: Question, rate: float, runs_max: int) -> Course:
    found = power.course(question, rate, runs_max)
    return Course(
        runs_max=runs_max,
        below=found.below,
        at_least=found.at_least,
        undecided=max(1 - found.decided, 0.0),
        mean_runs=found.mean_runs,
    )
