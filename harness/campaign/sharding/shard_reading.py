"""Results of a shard as its results.jsonl has them: grouped by run, and what is damaged."""

import enum
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from harness.campaign import campaign_plan, results
from harness.checks import verdicts

Attempts = tuple[results.RunResult, ...]
"""All attempts of one planned run, in order; a run without further attempts has one."""
_DECODING = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Rank(enum.IntEnum):
    """Results of a run, those first that count if it was made more than once."""

    UNEXPECTED = 0
    """INVALID, a control that was missed, or a regression."""
    UNKNOWN = 1
    EXPECTED = 2
    ERROR = 3
    """Says nothing about the subject."""


class ShardResults(msgspec.Struct, frozen=True, kw_only=True):
    """The results of some planned runs."""

    whole: dict[int, list[Attempts]] = {}
    """Number of a run -> its results; more than one entry if it was made more than once."""
    problems: list[str] = []
    """Whatever was noticed and does not count, as sentences; each makes a campaign UNKNOWN."""
    rejected: dict[int, str] = {}
    """Number of a run -> why a result of it does not count."""


def read(content: bytes, planned: Mapping[int, campaign_plan.PlannedRun]) -> ShardResults:
    """Return the results in a results.jsonl.

    A last line without its end was not written whole, and is left out with a problem, as is every
    line that is not about a planned run. Runs that did not end are left out.
    """
    problems: list[str] = []
    found: dict[int, list[results.RunResult]] = defaultdict(list)
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        result, problem = _result(line, planned)
        if result is None:
            problems.append(f"results.jsonl:{number}: {problem}")
        else:
            found[result.number].append(result)
    groups = {number: list(_groups(attempts)) for number, attempts in found.items()}
    problems += [
        f"results.jsonl: {planned[number].id}: expected all its attempts, in their order"
        for number, group in groups.items()
        if not all(map(_is_in_order, group))
    ]
    return ShardResults(
        whole={
            number: whole
            for number, group in groups.items()
            if (whole := [item for item in group if has_ended(item)])
        },
        problems=problems,
    )


def has_ended(attempts: Attempts) -> bool:
    """Return whether these are all attempts of a run: none is missing, and none is still due."""
    last = attempts[-1]
    is_whole = _is_in_order(attempts)
    return is_whole and not last.is_tried_again


def _is_in_order(attempts: Sequence[results.RunResult]) -> bool:
    return [result.attempt for result in attempts] == list(range(len(attempts)))


def rank(attempts: Attempts) -> Rank:
    """Return how much the result of a run speaks against the subject, or against the campaign."""
    last = attempts[-1]
    if last.error:
        return Rank.ERROR
    if last.is_regression or last.is_missed or last.is_against_subject:
        return Rank.UNEXPECTED
    return Rank.UNKNOWN if last.verdict is verdicts.Verdict.UNKNOWN else Rank.EXPECTED


def _result(
    line: bytes, planned: Mapping[int, campaign_plan.PlannedRun]
) -> tuple[results.RunResult | None, str]:
    """Return the result of a line, or None and what is wrong with it."""
    if not line.endswith(b"\n"):
        return None, "the line is cut"
    try:
        result = msgspec.json.decode(line, type=results.RunResult)
    except _DECODING as error:
        return None, f"expected a result ({error})"
    run = planned.get(result.number)
    if run is None or identity(result) != _planned_identity(run):
        return (
            None,
            f"expected a run of this plan, got number {result.number} ({result.scenario!r:.60})",
        )
    problem = contradiction(result)
    return (None, f"{run.id}: {problem}") if problem else (result, "")


def contradiction(result: results.RunResult) -> str:
    """Return what no run that was made can say; empty: nothing."""
    counts = (result.double_allocations, result.stuck, result.consumed_twice, result.others)
    if result.missing or result.cut:
        return "expected the result of a run, got a note that it is missing or was cut"
    if bool(result.error) == (result.verdict is not None):
        return f"expected a verdict or an error, got {'both' if result.error else 'neither'}"
    if min(*counts, result.claims, result.by_one_scheduler) < 0 or not 0 <= result.seconds < 1e9:
        return "expected counts and seconds that are not negative"
    if not 0 <= result.attempt < result.purpose.attempts:
        return f"expected attempt 0 to {result.purpose.attempts - 1}, got {result.attempt}"
    if result.verdict is verdicts.Verdict.VALID and any((*counts, result.by_one_scheduler)):
        return "it says VALID, and has violations"
    if result.verdict is verdicts.Verdict.VALID and result.thresholds:
        return "it says VALID, and did not meet thresholds"
    return ""


def identity(result: results.RunResult) -> tuple[str | bool, ...]:
    """Return what the result of a run has in common with its plan."""
    named = result.scenario, result.subject, result.purpose, result.hypothesis
    return *named, result.shows_otherwise


def _planned_identity(run: campaign_plan.PlannedRun) -> tuple[str | bool, ...]:
    return run.title, run.subject, run.purpose, run.hypothesis, run.shows_otherwise


def _groups(found: Sequence[results.RunResult]) -> Iterator[Attempts]:
    """Yield the attempts of each time that a run was made: each begins with the first one."""
    group: list[results.RunResult] = []
    for result in found:
        if group and result.attempt == 0:
            yield tuple(group)
            group = []
        group.append(result)
    yield tuple(group)
