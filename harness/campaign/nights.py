"""A night: one campaign after the other until the time is used up, and its summary.

A night fails for two reasons only: a violation by the tested subject, or a positive control or
known hazard that was not found (which includes a night that could not hunt at all). Anything else,
such as an occasional UNKNOWN, is shown in the summary and in the history.
"""

import pathlib
from collections.abc import Iterator, Sequence

import msgspec

from harness import clocks, errors, writing
from harness.campaign import results, summaries
from harness.campaign.purposes import Purpose
from harness.checks import verdicts

HISTORY = "nights.jsonl"
"""Name of the history file in the reports folder; one line per night."""
JUNIT = "nightly-junit.xml"
"""Name of the newest night's JUnit file in the reports folder."""


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the history."""

    ended: str
    """UTC time at which the night ended, as text."""
    cluster: str
    subject: str
    seed: int
    campaigns: int
    runs: int
    """Runs of the tested subject, without the controls."""
    valid: int
    double_allocations: int
    stuck: int = 0
    """Objects that could go on and did not; 0 in lines of older versions."""
    controls: int
    caught: int
    """Controls that were caught at least once."""
    failed: int
    """Runs that could not be executed."""
    seconds: float
    """Duration of the night, in seconds."""
    exit_code: int


class Budget:
    """The time budget of a night.

    A campaign that would not end in time is not started, except for the first one.
    """

    def __init__(self, seconds: float) -> None:
        self._begun = self._mark = clocks.monotonic_ns()
        self._seconds, self._longest = seconds, 0.0

    @property
    def used_s(self) -> float:
        """Seconds since the night began."""
        return (clocks.monotonic_ns() - self._begun) / 1e9

    def rounds(self) -> Iterator[int]:
        """Yield 0, 1, … while the budget has time for a round as long as the longest one so far."""
        number = 0
        while number == 0 or self.used_s + self._longest <= self._seconds:
            yield number
            number += 1
            now = clocks.monotonic_ns()
            self._longest = max(self._longest, (now - self._mark) / 1e9)
            self._mark = now


def night(
    run_results: Sequence[results.RunResult],
    *,
    cluster: str,
    subject: str,
    seed: int,
    campaigns: int,
    seconds: float,
) -> Night:
    """Return the history line for the results of a night."""
    table = results.rows(run_results)
    tested = [run for run in run_results if run.purpose is Purpose.SUBJECT]
    controls = results.of_purpose(table, Purpose.CONTROL)
    return Night(
        ended=clocks.wall_text(),
        cluster=cluster,
        subject=subject,
        seed=seed,
        campaigns=campaigns,
        runs=len(tested),
        valid=sum(run.verdict is verdicts.Verdict.VALID for run in tested),
        double_allocations=sum(run.double_allocations for run in tested),
        stuck=sum(run.stuck for run in tested),
        controls=len(controls),
        caught=sum(row.caught > 0 for row in controls),
        failed=sum(bool(run.error) for run in run_results),
        seconds=round(seconds, 1),
        exit_code=exit_code(table),
    )


def exit_code(table: Sequence[results.Row]) -> int:
    """Return 10 for a violation, 20 for what was missed or no control at all, else 0."""
    if any(row.caught for row in table if not row.purpose.must_fail):
        return verdicts.Verdict.INVALID.exit_code
    to_find = [row for row in table if row.purpose.must_fail]
    if not to_find or any(row.caught == 0 for row in to_find):
        return verdicts.Verdict.UNKNOWN.exit_code
    return verdicts.Verdict.VALID.exit_code


def remember(reports: pathlib.Path, entry: Night) -> list[Night]:
    """Append the night to the history; return all nights, the newest last."""
    path = reports / HISTORY
    with writing.explained(path), path.open("ab") as file:
        file.write(msgspec.json.encode(entry) + b"\n")
    return read(path)


def read(path: pathlib.Path) -> list[Night]:
    """Read all nights of a history file.

    Raises UsageError for a damaged line.
    """
    nights = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            nights.append(msgspec.json.decode(line, type=Night))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise errors.UsageError(
                f"{path}:{number}: expected a night ({error}); remove the line"
            ) from error
    return nights


def markdown(entry: Night, table: Sequence[results.Row], history: Sequence[Night]) -> str:
    """Return the summary of the night in Markdown."""
    lines = [
        f"## {_headline(entry)}",
        "",
        _figures(entry),
        "",
        *summaries.rows(table),
        "",
        f"The last {min(len(history), 14)} nights, oldest first: "
        + " ".join(_mark(night) for night in history[-14:]),
        "",
    ]
    return "\n".join(lines)


def _figures(entry: Night) -> str:
    stuck = f" and {entry.stuck} stuck objects" * (entry.stuck > 0)
    return (
        f"{entry.subject} on {entry.cluster}: {entry.double_allocations} double allocations{stuck} in "
        f"{entry.runs} runs, {entry.valid} of them VALID; {entry.caught} of {entry.controls} "
        f"positive controls caught; {entry.failed} runs failed with an error. Seed {entry.seed}, "
        f"{entry.campaigns} campaigns, {entry.seconds / 60:.0f} minutes."
    )


def _headline(entry: Night) -> str:
    if entry.exit_code == verdicts.Verdict.INVALID.exit_code:
        return f"INVALID: {_violated(entry)}"
    if entry.exit_code:
        return "A positive control was not caught: finding nothing proves nothing"
    return "No double allocation"


def _violated(entry: Night) -> str:
    if entry.double_allocations:
        return "a device was allocated to two claims"
    return "STUCK: pods or claims did not go on" if entry.stuck else "a guarantee was broken"


def _mark(night: Night) -> str:
    return {0: "ok", verdicts.Verdict.INVALID.exit_code: "INVALID"}.get(night.exit_code, "missed")
