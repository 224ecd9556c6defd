"""Ends the runs of a subject when it is decided whether its rate of INVALID is below a limit.

Runs count in the order of the plan, not in the order in which they end: a run that fails may end
sooner, and whatever ends first must not count first. Runs that are UNKNOWN or could not be executed
count as neither. Controls take no part.

A step of a bisection ends its runs by a rule of its own: one INVALID run decides at once, in
whatever order it came.
"""

import collections
import dataclasses
import itertools
import pathlib
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from harness import errors, regular_files, writing
from harness.campaign import bisection, campaign_plan, results
from harness.campaign.purposes import Purpose
from harness.checks import verdicts
from harness.model import figures
from harness.statistics import confidence_sequences, power, rates
from harness.statistics.confidence_sequences import Answer, Question

DECIDED = "decided.json"
"""Name of the file in a campaign's folder that lists the runs that its workers need not make."""
RUNS_MAX = 10_000
"""Most runs of one subject."""
_PATIENCE = 4
"""Runs of a subject that is not decided, as a multiple of those of one that never fails."""


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """The answer about one scenario with one subject."""

    scenario: str
    subject: str
    purpose: Purpose
    hypothesis: str
    answer: Answer
    limit: float
    confidence: float
    invalid: int
    conclusive: int
    """Runs that are VALID or INVALID, up to the decision."""
    inconclusive: int
    """Runs among them that are UNKNOWN or could not be executed, and count as neither."""
    low: float
    high: float
    """Interval of the rate that is right after every run; that of the row is not, for it supposes a
    number of runs chosen before the first."""
    text: str
    """The answer in a sentence; empty in a step of a bisection, which has its own."""


def question(text: str) -> Question | None:
    """Return the question of `--until-decided`, such as `0.01@0.95`; None for an empty text.

    Raises UsageError if it is none, or needs more than RUNS_MAX runs.
    """
    if not text:
        return None
    first, _, second = text.partition("@")
    try:
        found = Question(figures.number(first), figures.number(second))
    except ValueError:
        found = Question(0, 0)
    if not (0 < found.limit < 1 and 0.5 <= found.confidence <= 0.9999):
        raise errors.UsageError(
            "expected --until-decided RATE@CONFIDENCE with a rate between 0 and 1 and a confidence "
            f"from 0.5 to 0.9999, such as 0.01@0.95, got {text!r:.60}"
        )
    known = power.runs_to_see(found.limit, found.confidence)
    if known is None or known > RUNS_MAX or power.clean_runs(found) > RUNS_MAX:
        raise errors.UsageError(
            f"expected a question that {RUNS_MAX:,} runs can decide, got {text}: raise the rate or "
            "lower the confidence; flake-hunt power says how many runs are needed"
        )
    return found


def runs_max(asked: Question | None) -> int:
    """Return the limit of runs of a subject if none is given; 0 without a question."""
    return 0 if asked is None else min(_PATIENCE * power.clean_runs(asked), RUNS_MAX)


def decisions(
    plan: campaign_plan.CampaignPlan, found: Iterable[results.RunResult]
) -> list[Decision]:
    """Return the decision about each subject of a plan with a question, in the plan's order."""
    asked = _asked(plan)
    if asked is None:
        return []
    made = _by_number(found)
    return [_decision(asked, key, runs, made) for key, runs in _groups(plan).items()]


def not_needed(plan: campaign_plan.CampaignPlan, found: Sequence[results.RunResult]) -> set[int]:
    """Return the numbers of planned runs that were not made because their subject was decided."""
    asked, made = _asked(plan), _by_number(found)
    if asked is None:
        return set()
    groups = [runs for runs in _groups(plan).values() if _count(asked, runs, made).is_over]
    return {run.number for runs in groups for run in runs} - made.keys()


def is_needed(folder: pathlib.Path, run: campaign_plan.PlannedRun) -> bool:
    """Return whether a run is still needed, by the file in the campaign's folder."""
    try:
        content = regular_files.content(folder / DECIDED)
    except FileNotFoundError:
        return True
    return run.kind not in msgspec.json.decode(content, type=list[results.Kind])


class Stopping:
    """Writes, result by result, for the workers of a campaign which subjects are decided."""

    def __init__(self, plan: campaign_plan.CampaignPlan, folder: pathlib.Path) -> None:
        self._asked, self._path = _asked(plan), folder / DECIDED
        self._groups = _groups(plan) if self._asked else {}
        self._count_planned = len(plan.runs)
        self._made: dict[int, list[results.RunResult]] = collections.defaultdict(list)
        self._decided: list[results.Kind] = []
        self._answers = set[Answer]()

    @property
    def ends_all(self) -> bool:
        """True if a step of a bisection needs no further run: one subject is enough for a no."""
        if self._answers - {Answer.BELOW}:
            return True
        is_whole = len(self._decided) == len(self._groups) > 0
        return is_whole and sum(map(len, self._groups.values())) == self._count_planned

    def see(self, result: results.RunResult) -> bool:
        """Take a result; write the file and return True if it decides.

        Raises StorageError or UnwritableError if the file cannot be written.
        """
        self._made[result.number].append(result)
        key = result.kind
        if self._asked is None or key not in self._groups or key in self._decided:
            return False
        count = _count(self._asked, self._groups[key], self._made)
        if not count.is_over:
            return False
        self._answers.add(count.answer)
        self._decided.append(key)
        writing.replace(self._path, msgspec.json.encode(self._decided))
        return True

    def is_needed(self, run: campaign_plan.PlannedRun) -> bool:
        """Return whether the subject of a run is not decided."""
        return run.kind not in self._decided


_Asked = Question | bisection.Step


def _asked(plan: campaign_plan.CampaignPlan) -> _Asked | None:
    return plan.bisect_step or question(plan.until_decided)


def _groups(plan: campaign_plan.CampaignPlan) -> dict[results.Kind, list[campaign_plan.PlannedRun]]:
    groups = collections.defaultdict(list)
    for run in sorted(plan.runs, key=lambda run: run.number):
        if run.purpose is not Purpose.CONTROL:
            groups[run.kind].append(run)
    return groups


def _by_number(found: Iterable[results.RunResult]) -> dict[int, list[results.RunResult]]:
    made: dict[int, list[results.RunResult]] = {}
    for result in results.in_plan_order(found):
        made.setdefault(result.number, []).append(result)
    return made


@dataclasses.dataclass(frozen=True, slots=True)
class _Count:
    """The runs of a subject, up to the one that decides."""

    rate: rates.Rate
    inconclusive: int
    answer: Answer
    is_over: bool
    """No further run is needed."""


def _count(
    asked: _Asked,
    planned: Sequence[campaign_plan.PlannedRun],
    made: Mapping[int, Sequence[results.RunResult]],
) -> _Count:
    rate, inconclusive, answer, is_over = rates.Rate(0, 0), 0, Answer.UNDECIDED, False
    for run in _in_order(asked, planned, made):
        if run.verdict in (verdicts.Verdict.VALID, verdicts.Verdict.INVALID):
            rate = rates.Rate(rate.failed + _is_invalid(run), rate.runs + 1)
            answer = _answer(asked, rate)
        else:
            inconclusive += 1
        is_over = answer is not Answer.UNDECIDED or _gives_up(asked, rate, inconclusive)
        if is_over:
            break
    return _Count(rate, inconclusive, answer, is_over)


def _answer(asked: _Asked, rate: rates.Rate) -> Answer:
    if isinstance(asked, Question):
        return confidence_sequences.answer_now(asked, rate)
    return asked.answer(rate)


def _gives_up(asked: _Asked, rate: rates.Rate, inconclusive: int) -> bool:
    return isinstance(asked, bisection.Step) and asked.gives_up(rate, inconclusive)


def _decision(
    asked: _Asked,
    key: results.Kind,
    planned: Sequence[campaign_plan.PlannedRun],
    made: Mapping[int, Sequence[results.RunResult]],
) -> Decision:
    count = _count(asked, planned, made)
    rate, inconclusive, answer = count.rate, count.inconclusive, count.answer
    limit = asked.limit if isinstance(asked, Question) else asked.rate
    low, high = confidence_sequences.interval(rate, asked.confidence)
    purpose, scenario, subject, hypothesis = key
    return Decision(
        scenario=scenario,
        subject=subject,
        purpose=Purpose(purpose),
        hypothesis=hypothesis,
        answer=answer,
        limit=limit,
        confidence=asked.confidence,
        invalid=rate.failed,
        conclusive=rate.runs,
        inconclusive=inconclusive,
        low=low,
        high=high,
        text=_text(asked, answer, rate, inconclusive) if isinstance(asked, Question) else "",
    )


def _in_order(
    asked: _Asked,
    planned: Sequence[campaign_plan.PlannedRun],
    made: Mapping[int, Sequence[results.RunResult]],
) -> list[results.RunResult]:
    """Return the results in the order of the plan, up to the first run that has none.

    In a bisection, an INVALID run decides although runs before it go on; then it is the last one.
    """
    every = [run for item in planned for run in made.get(item.number, ())]
    if isinstance(asked, bisection.Step) and any(map(_is_invalid, every)):
        return sorted(every, key=_is_invalid)
    whole = itertools.takewhile(lambda item: item.number in made, planned)
    return [run for item in whole for run in made[item.number]]


def _is_invalid(run: results.RunResult) -> bool:
    return run.verdict is verdicts.Verdict.INVALID


def _text(asked: Question, answer: Answer, rate: rates.Rate, inconclusive: int) -> str:
    uncounted = f"; {verdicts.counted(inconclusive, 'run')} more UNKNOWN or not executed"
    runs = f"{verdicts.counted(rate.runs, 'run')}, {rate.failed} of them INVALID"
    runs += uncounted * (inconclusive > 0)
    if answer is not Answer.UNDECIDED:
        return f"{answer} {_percent(asked.limit)} ({_percent(asked.confidence)}) after {runs}"
    return f"not decided after {runs} ({_power(asked, rate.runs)})"


def _power(asked: Question, runs: int) -> str:
    """Return what this number of runs decides, as text."""
    double = min(2 * asked.limit, 1.0)
    chances = [power.course(asked, value, runs).decided for value in (0.0, double)]
    return (
        f"power: as many runs decide about a subject that never fails with probability "
        f"{_percent(chances[0])}, and about one that fails in {_percent(double)} of its runs with "
        f"{_percent(chances[1])}; {power.clean_runs(asked)} runs without a failure decide"
    )


def _percent(share: float) -> str:
    return f"{share * 100:.3g} %"
