"""A night: when it fails, when it stops, and its summary."""

import pathlib

import msgspec
import pytest

from harness import clocks, errors
from harness.campaign import nights, results
from harness.campaign.purposes import Purpose
from harness.checks import verdicts

VALID, INVALID, UNKNOWN = (
    verdicts.Verdict.VALID,
    verdicts.Verdict.INVALID,
    verdicts.Verdict.UNKNOWN,
)


def run(
    verdict: verdicts.Verdict | None, *, control: bool = False, error: str = ""
) -> results.RunResult:
    return results.RunResult(
        scenario="churn",
        subject="gather-not-atomic" if control else "correct",
        purpose=Purpose.CONTROL if control else Purpose.SUBJECT,
        seconds=1.0,
        verdict=verdict,
        claims=10,
        double_allocations=int(verdict is INVALID),
        error=error,
    )


CAUGHT, MISSED = run(INVALID, control=True), run(VALID, control=True)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([run(VALID), CAUGHT], 0),
        ([run(UNKNOWN), CAUGHT], 0),
        ([run(None, error="no engine"), CAUGHT], 0),
        ([run(VALID), MISSED, CAUGHT], 0),
        ([run(VALID), MISSED], 20),
        ([run(VALID), run(None, control=True, error="no engine")], 20),
        ([run(VALID)], 20),
        ([], 20),
        ([run(VALID), run(INVALID), CAUGHT], 10),
        ([run(INVALID), MISSED], 10),
    ],
)
def test_it_fails_for_a_finding_and_for_a_control_that_was_missed(
    found: list[results.RunResult], code: int
) -> None:
    assert nights.exit_code(results.rows(found)) == code


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic_ns(self) -> int:
        return int(self.now_s * 1e9)


def rounds(monkeypatch: pytest.MonkeyPatch, seconds: float, each: list[float]) -> int:
    clock = Clock()
    monkeypatch.setattr(clocks, "monotonic_ns", clock.monotonic_ns)
    made = 0
    for number in nights.Budget(seconds).rounds():
        clock.now_s += each[number]
        made += 1
    return made


@pytest.mark.parametrize(
    ("seconds", "each", "expected"),
    [
        (0, [5], 1),
        (10, [4, 4, 4], 2),
        (12, [4, 4, 4], 3),
        (20, [2, 9, 5], 3),
        (20, [12, 1], 1),
    ],
)
def test_no_round_is_begun_that_would_not_end_in_time(
    monkeypatch: pytest.MonkeyPatch, seconds: float, each: list[float], expected: int
) -> None:
    assert rounds(monkeypatch, seconds, [*each, 100.0, 100.0]) == expected


def entry(found: list[results.RunResult]) -> nights.Night:
    return nights.night(
        found, cluster="kind-1.36", subject="python", seed=7, campaigns=2, seconds=90.0
    )


def test_the_figures() -> None:
    made = entry([run(VALID), run(UNKNOWN), run(None, error="x"), MISSED, CAUGHT])
    assert (made.runs, made.valid, made.failed) == (3, 1, 1)
    assert (made.controls, made.caught) == (1, 1)
    assert made.double_allocations == 0, "a control's are not findings"


def test_the_history_grows(tmp_path: pathlib.Path) -> None:
    first = entry([run(VALID), CAUGHT])
    assert nights.remember(tmp_path, first) == [first]
    second = entry([run(INVALID), CAUGHT])
    assert nights.remember(tmp_path, second) == [first, second]
    with (tmp_path / nights.HISTORY).open("a") as file:
        file.write("{\n")
    with pytest.raises(errors.UsageError, match=r"nights\.jsonl:3: expected a night"):
        nights.read(tmp_path / nights.HISTORY)


@pytest.mark.parametrize(
    ("stuck", "headline", "figures"),
    [
        (
            2,
            "INVALID: STUCK: pods or claims did not go on",
            "0 double allocations and 2 stuck objects in",
        ),
        (0, "INVALID: a guarantee was broken", "0 double allocations in"),
    ],
)
def test_a_stuck_scheduler_is_no_double_allocation(stuck: int, headline: str, figures: str) -> None:
    ended = msgspec.structs.replace(run(INVALID), double_allocations=0, stuck=stuck)
    made = entry([ended, CAUGHT])
    text = nights.markdown(made, results.rows([ended, CAUGHT]), [made])
    assert text.startswith(f"## {headline}\n")
    assert figures in text


def test_the_summary() -> None:
    found = [run(VALID), run(INVALID), CAUGHT]
    made = entry(found)
    text = nights.markdown(made, results.rows(found), [entry([run(VALID), CAUGHT]), made])
    assert text.startswith("## INVALID: a device was allocated to two claims\n")
    assert "| churn | correct | 2 |  | 20 | 1 | 0 | **INVALID** |" in text
    assert "| churn | gather-not-atomic | 1 | 1 | 10 | 1 | 0 | INVALID |" in text
    assert "The last 2 nights, oldest first: ok INVALID" in text
