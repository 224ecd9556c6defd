"""The three answers: of a check, of a run and of a campaign."""

import enum
from collections.abc import Iterable

SCHEMA_VERSION = 8
"""Schema of verdict.json, which has them."""


class Verdict(enum.StrEnum):
    """The answer of a check or of a run, declared from best to worst."""

    VALID = "VALID"
    UNKNOWN = "UNKNOWN"
    INVALID = "INVALID"

    @property
    def exit_code(self) -> int:
        return {Verdict.VALID: 0, Verdict.UNKNOWN: 20, Verdict.INVALID: 10}[self]


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst of several verdicts; UNKNOWN if there are none."""
    return max(verdicts, key=list(Verdict).index, default=Verdict.UNKNOWN)
