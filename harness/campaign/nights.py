"""A night: campaigns one after the other until the time is used, and what is told of them in the morning.

A night fails for two reasons only: a double allocation in what was tested, or a positive control that was not caught (a night that could not
hunt at all is one). Everything else, an UNKNOWN here and there, is in the summary and in the history.
"""

import pathlib
from collections.abc import Iterator, Sequence

import msgspec

from harness import clocks, errors, writing
from harness.campaign import results, summaries
from harness.checks import verdicts

HISTORY = "nights.jsonl"
JUNIT = "nightly-junit.xml"
"""Of the newest night, below the reports."""


class Night(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the history."""

    ended: str
    cluster: str
    subject: str
    seed: int
    campaigns: int
    runs: int
    """Of what was tested, without the controls."""
    valid: int
    double_allocations: int
    controls: int
    caught: int
    failed: int
    """Runs that could not be made."""
    seconds: float
    exit_code: int


class Budget:
    """The time of a night. A campaign that would not end in time is not begun; the first one always is."""

    def __init__(self, seconds: float) -> None:
        self._begun = self._mark = clocks.monotonic_ns()
        self._seconds, self._longest = seconds, 0.0

    @property
    def used_s(self) -> float:
        """Since the night began."""
        return (clocks.monotonic_ns() - self._begun) / 1e9

    def rounds(self) -> Iterator[int]:
        """0, 1, … as long as another round as long as the longest so far would fit."""
        number = 0
        while number == 0 or self.used_s + self._longest <= self._seconds:
            yield number
            number += 1
            now = clocks.monotonic_ns()
            self._longest = max(self._longest, (now - self._mark) / 1e9)
            self._mark = now


def night(
    found: Sequence[results.RunResult],
    *,
    cluster: str,
    subject: str,
    seed: int,
    campaigns: int,
    seconds: float,
) -> Night:
    """What the runs of a night come to."""
    table = results.rows(found)
    tested = [run for run in found if not run.is_control]
    controls = [row for row in table if row.is_control]
    return Night(
        ended=clocks.wall_text(),
        cluster=cluster,
        subject=subject,
        seed=seed,
        campaigns=campaigns,
        runs=len(tested),
        valid=sum(run.verdict is verdicts.Verdict.VALID for run in tested),
        double_allocations=sum(run.double_allocations for run in tested),
        controls=len(controls),
        caught=sum(row.caught > 0 for row in controls),
        failed=sum(bool(run.error) for run in found),
        seconds=round(seconds, 1),
        exit_code=exit_code(table),
    )


def exit_code(table: Sequence[results.Row]) -> int:
    """10 for a double allocation in what was tested, 20 for a control that was not caught (or none at all), 0 otherwise."""
    if any(row.verdict is verdicts.Verdict.INVALID for row in table if not row.is_control):
        return verdicts.Verdict.INVALID.exit_code
    controls = [row for row in table if row.is_control]
    if not controls or any(row.caught == 0 for row in controls):
        return verdicts.Verdict.UNKNOWN.exit_code
    return verdicts.Verdict.VALID.exit_code


def remember(reports: pathlib.Path, entry: Night) -> list[Night]:
    """Append the night to the history; all nights, the newest last."""
    path = reports / HISTORY
    with writing.explained(path), path.open("ab") as file:
        file.write(msgspec.json.encode(entry) + b"\n")
    return read(path)


def read(path: pathlib.Path) -> list[Night]:
    """The nights of a history; UsageError when a line is damaged."""
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
    """The summary of a job."""
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
    return (
        f"{entry.subject} on {entry.cluster}: {entry.double_allocations} double allocations in {entry.runs} runs, "
        f"{entry.valid} of them VALID; {entry.caught} of {entry.controls} positive controls caught; "
        f"{entry.failed} runs could not be made. Seed {entry.seed}, {entry.campaigns} campaigns, "
        f"{entry.seconds / 60:.0f} minutes."
    )


def _headline(entry: Night) -> str:
    if entry.exit_code == verdicts.Verdict.INVALID.exit_code:
        return "INVALID: a device was in two claims"
    if entry.exit_code:
        return "A positive control was not caught: what was not found proves nothing"
    return "No double allocation"


def _mark(night: Night) -> str:
    return {0: "ok", verdicts.Verdict.INVALID.exit_code: "INVALID"}.get(night.exit_code, "missed")
