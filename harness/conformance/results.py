"""Results of rules, and what they mean together."""

import dataclasses
import enum
from collections.abc import Sequence
from typing import ClassVar

from harness.conformance import rules
from harness.model import answers


class Outcome(enum.StrEnum):
    """The result of checking one rule."""

    HELD = "held"
    FAILED = "failed"
    SKIPPED = "skipped"
    """It does not apply, or was left out by request; the text says why."""
    UNDECIDED = "undecided"
    """It applies, but could not be examined; the text says why."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one rule."""

    rule: rules.Rule
    outcome: Outcome
    text: str = ""
    """A sentence: the failure, or the reason for being skipped or undecided."""
    seconds: float = 0.0


class Ended(Exception):  # noqa: N818 - a result, not an error
    """A rule does not hold, or is not examined; the text says why in one sentence."""

    outcome: ClassVar[Outcome]


class Failed(Ended):
    """The rule does not hold."""

    outcome = Outcome.FAILED


class Skipped(Ended):
    """The rule does not apply."""

    outcome = Outcome.SKIPPED


class Undecided(Ended):
    """The rule could not be examined."""

    outcome = Outcome.UNDECIDED


def require(holds: object, failure: str) -> None:
    """Raise Failed with a sentence unless something holds."""
    if not holds:
        raise Failed(failure)


def skip_unless(applies: object, reason: str) -> None:
    """Raise Skipped with a sentence unless the rule applies."""
    if not applies:
        raise Skipped(reason)


def verdict(found: Sequence[Result], fail_on: rules.Level = rules.Level.MUST) -> answers.Verdict:
    """Return the verdict by rules of the weight `fail_on` or more.

    A skipped rule never counts as held: without any rule that was decided it is UNKNOWN.
    """
    musts = [item.outcome for item in found if item.rule.level.counts(fail_on)]
    if Outcome.FAILED in musts:
        return answers.Verdict.INVALID
    is_decided = any(item.outcome in (Outcome.HELD, Outcome.FAILED) for item in found)
    is_known = is_decided and Outcome.UNDECIDED not in musts
    return answers.Verdict.VALID if is_known else answers.Verdict.UNKNOWN


def counted(found: Sequence[Result]) -> str:
    """Return the counts as text: `71 of 96 rules held, 1 must failed, 3 notes failed, …`."""
    outcomes = [item.outcome for item in found]
    weighed = [(item.rule.level, item.outcome) for item in found]
    parts = [f"{outcomes.count(Outcome.HELD)} of {len(found)} rules held"]
    parts += [
        f"{count} `{level}` {kind}"
        for level in rules.Level
        for kind in (Outcome.FAILED, Outcome.UNDECIDED)
        if (count := weighed.count((level, kind)))
    ]
    if count := outcomes.count(Outcome.SKIPPED):
        parts.append(f"{count} skipped")
    return ", ".join(parts)
