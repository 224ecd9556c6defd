"""The result of a comparison: one list of rows, rendered as text, JSON, or Markdown."""

import enum

import msgspec

SCHEMA_VERSION = 3
LARGE = 0.5
"""A large difference of two rates. Without it being excluded, nothing is called the same."""


class Answer(enum.StrEnum):
    """The answer of one test, or of all, about the second side."""

    SAME = "no difference found"
    """Nor is there a large one: the exact interval of a difference of rates excludes LARGE."""
    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "cannot tell"
    """There are too few runs: a large difference is neither shown nor excluded."""

    @property
    def is_different(self) -> bool:
        return self in (Answer.BETTER, Answer.WORSE)

    @property
    def exit_code(self) -> int:
        return {Answer.SAME: 0, Answer.UNDECIDED: 20}.get(self, 10)

    @property
    def fix_exit_code(self) -> int:
        return {Answer.BETTER: 0, Answer.WORSE: 10}.get(self, 20)


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the things that are compared."""

    label: str
    """`A` or `B`; `base` or `change`."""
    path: str
    kind: str
    """`run`, `campaign`, or `folder of runs`."""
    valid: int
    unknown: int
    invalid: int
    left_out: list[str]
    """Runs without a verdict that can be used, each with the reason."""
    copies: int
    """Copies of runs that are counted already."""
    others: int
    """Runs of controls, hazards and remedies, which are not compared with those of the subject."""
    headline: str = ""
    """Verdict and figures of a campaign that has ended, in a line; empty for other things."""
    caught: list[str] = []
    """Positive controls that were caught, each as `scenario: defect`."""
    missed: list[str] = []
    """Those that were not: the same runs might not show what the subject does wrong either."""

    @property
    def runs(self) -> int:
        return self.valid + self.unknown + self.invalid


class SettingDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that differs between the two sides."""

    key: str
    """`subject`, `versions.commit`, `settings.subject.parallelism`, …"""
    first_values: list[str]
    """All values that runs of the side have; empty: it is not set."""
    second_values: list[str]
    scenarios: list[str]
    """The compared scenarios in which it differs."""


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one side within a row."""

    subject: str
    invalid: int
    conclusive: int
    """Runs that are VALID or INVALID; the rate is that of INVALID among them."""
    unknown: int
    low: float
    high: float
    """The exact interval of the true rate (Clopper and Pearson)."""
    finding: str = ""
    """The reason of the first INVALID run."""
    directory: str = ""
    """The directory of that run."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one scenario and load on the two sides, or those of all scenarios together."""

    scenario: str
    first: Outcomes
    second: Outcomes
    p_value: float
    """The p-value for equal rates of INVALID runs: Boschloo's test, or the exact stratified one."""
    corrected_p_value: float | None
    """The p-value after Holm's correction for all rows; None if the runs are too few for a test."""
    answer: Answer
    text: str
    """The answer in a sentence."""

    @property
    def subject(self) -> str:
        return " against ".join(dict.fromkeys((self.first.subject, self.second.subject)))


class NotCompared(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of a side that nothing on the other side can be compared with."""

    side: str
    scenario: str
    subject: str
    runs: int
    reason: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The whole comparison."""

    schema: int = SCHEMA_VERSION
    answer: Answer
    """The answer about the rates of INVALID runs of the second side."""
    exit_code: int
    summary: str
    confidence: float
    """Confidence of each interval, and of all tests together."""
    sides: list[Side]
    settings: list[SettingDifference]
    rows: list[Row]
    """One for each scenario; with several, the last is all of them together, not averaged."""
    doubts: list[str]
    """Why the answer cannot be relied on: controls that a side missed, or has alone."""
    cautions: list[str]
    """Differences between the sides that are no settings, and runs that the rates leave out."""
    not_compared: list[NotCompared]

    @property
    def scenario_rows(self) -> list[Row]:
        return self.rows[:-1] if len(self.rows) > 1 else self.rows
