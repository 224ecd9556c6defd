"""The result of a comparison: its JSON document, from which text and page are made."""

import enum

import msgspec

SCHEMA_VERSION = 1
LARGE = 0.5
"""A large difference of two rates. Without it being excluded, nothing is called the same."""


class Answer(enum.StrEnum):
    """The answer of one test, or of all."""

    SAME = "no difference found"
    """Nor is there a large one: the exact interval of a difference of rates excludes LARGE."""
    DIFFERENT = "different"
    UNDECIDED = "cannot tell"
    """There are too few runs: a large difference is neither shown nor excluded."""

    @property
    def exit_code(self) -> int:
        """Exit code of a command that ends with this answer."""
        return {Answer.SAME: 0, Answer.DIFFERENT: 10, Answer.UNDECIDED: 20}[self]


class FixAnswer(enum.StrEnum):
    """The answer about the second side as a fix of the first."""

    WORKS = "works"
    """It is INVALID less often, by more than chance, and nowhere more often."""
    WORSE = "worse"
    """Somewhere it is INVALID more often, by more than chance."""
    NOT_SHOWN = "not shown"

    @property
    def exit_code(self) -> int:
        """Exit code of `compare --fix`."""
        return {FixAnswer.WORKS: 0, FixAnswer.WORSE: 10, FixAnswer.NOT_SHOWN: 20}[self]


class Fix(msgspec.Struct, frozen=True, kw_only=True):
    """The second of two sides as a fix of the first."""

    first: str
    second: str
    answer: FixAnswer
    confidence: float
    """Confidence of the tests that decide; all tests of rates of the comparison are corrected
    together."""
    text: str
    """The answer in a sentence, with exact intervals."""


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the things that are compared."""

    label: str
    """`A`, `B`, …"""
    path: str
    kind: str
    """`run`, `campaign`, or `folder of runs`."""
    valid: int
    unknown: int
    invalid: int
    left_out: list[str]
    """Runs without a verdict that can be used, each with the reason."""
    copies: int = 0
    """Copies of runs that are counted already."""
    others: int = 0
    """Runs of controls, hazards and remedies, which are not compared with those of the subject."""
    headline: str = ""
    """Verdict and figures of a campaign that has ended, in a line; empty for other things."""
    caught: list[str] = []
    """Positive controls that were caught, each as `scenario: defect`."""
    missed: list[str] = []
    """Those that were not: the same runs might not show what the subject does wrong either."""
    shown: list[str] = []
    """Known hazards that were shown, such as `H1`."""

    @property
    def runs(self) -> int:
        """The number of runs with a verdict."""
        return self.valid + self.unknown + self.invalid


class SettingDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A setting that differs between two sides."""

    first: str
    """Label of a side."""
    second: str
    key: str
    """`subject`, `versions.commit`, `settings.subject.parallelism`, …"""
    first_values: list[str]
    """All values that runs of the side have; empty: it is not set."""
    second_values: list[str]
    scenarios: list[str]
    """The compared scenarios in which it differs."""


class Outcomes(msgspec.Struct, frozen=True, kw_only=True):
    """The verdicts and violations of the compared runs of one side."""

    subject: str
    invalid: int
    conclusive: int
    """Runs that are VALID or INVALID; the rate is that of INVALID among them."""
    unknown: int
    share: float | None
    """None without conclusive runs."""
    low: float
    high: float
    """The exact interval of the true rate (Clopper and Pearson)."""
    claims: int
    violations: int
    double_allocations: int
    stuck: int


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """A figure in the runs of one side; None without runs that have it."""

    runs: int
    least: float | None = None
    quarter: float | None = None
    median: float | None = None
    three_quarters: float | None = None
    most: float | None = None


class TimeComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Throughput, or a percentile of a latency, in the runs of two sides."""

    name: str
    unit: str
    first: Spread
    second: Spread
    change_low: float | None
    change_high: float | None
    """Bootstrap interval of how much larger the second median is; None with too few runs."""
    p_value: float
    """The p-value of the rank sum test."""
    corrected_p_value: float | None
    """The p-value after Holm's correction for all tests of times; None if the runs are too few for
    a test."""
    answer: Answer


class PairComparison(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one scenario and load on two sides."""

    first: str
    second: str
    """Labels of the sides."""
    scenario: str
    first_outcomes: Outcomes
    second_outcomes: Outcomes
    p_value: float
    """The p-value of Boschloo's exact test for equal rates of INVALID runs."""
    corrected_p_value: float | None
    """The p-value after Holm's correction for all tests of rates; None if the runs are too few for
    a test."""
    answer: Answer
    text: str
    """The answer in a sentence."""
    fall_low: float
    fall_high: float
    """Exact interval of how much lower the second rate is; wider than what the test needs."""
    times: list[TimeComparison]
    times_left_out: str
    """Why throughput and latency are not compared; empty: they are."""
    cautions: list[str]


class OverallComparison(msgspec.Struct, frozen=True, kw_only=True):
    """All scenarios of two sides at once, without averaging their rates."""

    first: str
    second: str
    pairs: int
    """Scenarios and subjects that go in."""
    p_value: float
    """The p-value of the exact stratified test."""
    corrected_p_value: float | None
    answer: Answer
    text: str


class NotCompared(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of a side that nothing on the other side can be compared with."""

    side: str
    other: str
    scenario: str
    subject: str
    runs: int
    reason: str


class ComparedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    side: str
    scenario: str
    subject: str
    seed: int = 0
    verdict: str
    reason: str = ""
    """The reason of the verdict."""
    violations: int
    allocations_per_s: float | None
    directory: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The whole comparison."""

    schema: int = SCHEMA_VERSION
    answer: Answer
    """The answer about the rates of INVALID runs; times do not decide it."""
    exit_code: int
    summary: str
    confidence: float
    """Confidence of each interval, of all tests of rates together, and of all tests of times
    together."""
    seed: int
    """Seed of random deals and resamples."""
    sides: list[Side]
    settings: list[SettingDifference]
    overall: list[OverallComparison]
    """One for each two sides with several pairs."""
    pairs: list[PairComparison]
    fixes: list[Fix]
    """One for each two sides that can be compared: is the second a fix of the first?"""
    doubts: list[str] = []
    """Why answers cannot be relied on: controls that a side missed, or has alone; one makes the
    answer `cannot tell`."""
    not_compared: list[NotCompared]
    runs: list[ComparedRun]
