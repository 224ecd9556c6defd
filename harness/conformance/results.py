"""Results of rules, and what they mean together."""

import dataclasses
import enum
from collections.abc import Sequence

from harness.conformance import rules

HELD, INVALID, UNKNOWN = 0, 10, 20
"""Exit codes: every rule that must hold does · one is broken · it could not be decided."""


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


class Failed(Exception):  # noqa: N818 - a violation, not an error
    """The rule does not hold; the text is the failure in one sentence."""


class Skipped(Exception):  # noqa: N818 - a result, not an error
    """The rule does not apply; the text says why."""


class Undecided(Exception):  # noqa: N818 - a result, not an error
    """The rule could not be examined; the text says why."""


def exit_code(found: Sequence[Result], fail_on: rules.Level = rules.Level.MUST) -> int:
    """Return HELD, INVALID or UNKNOWN, by rules of the weight `fail_on` or more.

    A skipped rule never counts as held: without any rule that was decided it is UNKNOWN.
    """
    musts = [item.outcome for item in found if item.rule.level.counts(fail_on)]
    if Outcome.FAILED in musts:
        return INVALID
    is_decided = any(item.outcome in (Outcome.HELD, Outcome.FAILED) for item in found)
    return UNKNOWN if Outcome.UNDECIDED in musts or not is_decided else HELD


def verdict(found: Sequence[Result], fail_on: rules.Level = rules.Level.MUST) -> str:
    """Return the verdict in one word, as of a run."""
    return {HELD: "VALID", INVALID: "INVALID", UNKNOWN: "UNKNOWN"}[exit_code(found, fail_on)]


def counted(found: Sequence[Result]) -> str:
    """Return the counts as text: `71 of 96 rules held, 1 must failed, 3 notes failed, …`."""
    parts = [f"{_count(found, Outcome.HELD)} of {len(found)} rules held"]
    for level in rules.Level:
        items = [item for item in found if item.rule.level is level]
        counts = [(_count(items, kind), kind) for kind in (Outcome.FAILED, Outcome.UNDECIDED)]
        parts += [f"{count} `{level}` {kind}" for count, kind in counts if count]
    if count := _count(found, Outcome.SKIPPED):
        parts.append(f"{count} skipped")
    return ", ".join(parts)


def _count(found: Sequence[Result], outcome: Outcome) -> int:
    return sum(item.outcome is outcome for item in found)
