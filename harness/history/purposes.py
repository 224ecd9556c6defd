"""The purposes of a campaign's runs, and the verdict that each is expected to have."""

import enum

from harness.model import answers

ATTEMPTS = 3
"""Maximum number of attempts to find what must be found; each attempt counts in the table."""


class Purpose(enum.StrEnum):
    """The purpose of a run in a campaign, declared in the order of the table."""

    SUBJECT = "subject"
    """The tested subject, which is expected to be VALID."""
    CONTROL = "control"
    """A known defect is enabled, and must be found."""
    HAZARD = "hazard"
    """The scenario is known to fail with the correct subject, as upstream, and must still fail."""
    ASKED = "asked"
    """A known hazard, and a program that may have it: either answer is one."""
    REMEDY = "remedy"
    """The remedies of a hazard are enabled, and the subject is expected to be VALID."""

    @property
    def must_fail(self) -> bool:
        return self in (Purpose.CONTROL, Purpose.HAZARD)

    @property
    def is_of_hazard(self) -> bool:
        """True if violations in the way of a known hazard do not speak against the subject."""
        return self in (Purpose.HAZARD, Purpose.ASKED)

    @property
    def is_sought(self) -> bool:
        return self.must_fail or self is Purpose.ASKED

    @property
    def expected(self) -> answers.Verdict:
        return answers.Verdict.INVALID if self.must_fail else answers.Verdict.VALID

    @property
    def attempts(self) -> int:
        return ATTEMPTS if self.must_fail else 1

    @property
    def heading(self) -> str:
        return _HEADINGS[self]

    @property
    def found(self) -> str:
        return "shown" if self.is_of_hazard else "caught"

    @property
    def missed(self) -> str:
        return f"{self.value} not {self.found}"


_HEADINGS = {
    Purpose.SUBJECT: "tested subject",
    Purpose.CONTROL: "positive controls",
    Purpose.HAZARD: "known upstream hazards",
    Purpose.ASKED: "known hazards that the program may have",
    Purpose.REMEDY: "remedies",
}
