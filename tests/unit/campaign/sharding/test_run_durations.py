"""How long runs took in earlier campaigns."""

import json
import pathlib

import pytest

from harness.campaign.sharding import run_durations


def write(reports: pathlib.Path, name: str, *results: dict[str, object]) -> pathlib.Path:
    folder = reports / "campaigns" / name
    folder.mkdir(parents=True)
    lines = [json.dumps({"scenario": "churn", "subject": "correct"} | item) for item in results]
    (folder / "results.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_durations_are_those_of_earlier_campaigns(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "a", {"seconds": 2.0}, {"seconds": 4.0}, {"seconds": 99.0, "error": "it died"})
    write(tmp_path, "b", {"seconds": 6.0}, {"subject": "x", "seconds": 1.0})
    assert run_durations.known(tmp_path) == {("churn", "correct"): 4.0, ("churn", "x"): 1.0}


def test_further_attempts_count_for_their_run(tmp_path: pathlib.Path) -> None:
    attempts = [{"seconds": 5.0, "attempt": attempt, "number": 1} for attempt in range(3)]
    write(tmp_path, "a", *attempts, {"seconds": 5.0, "number": 2})
    assert run_durations.known(tmp_path) == {("churn", "correct"): 10.0}


def test_a_run_that_was_cut_has_no_duration(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "a", {"seconds": 1.0, "cut": True, "number": 1}, {"seconds": 5.0, "number": 2})
    assert run_durations.known(tmp_path) == {("churn", "correct"): 5.0}


def test_one_slow_run_does_not_count_for_the_others(tmp_path: pathlib.Path) -> None:
    made = [{"seconds": seconds, "number": at} for at, seconds in enumerate((2.0, 3.0, 500.0), 1)]
    write(tmp_path, "a", *made)
    assert run_durations.known(tmp_path) == {("churn", "correct"): 3.0}


@pytest.mark.parametrize("content", ["{", '{"scenario": 5}\n', "[" * 100_000, "\x00"])
def test_damaged_campaigns_are_left_out(tmp_path: pathlib.Path, content: str) -> None:
    write(tmp_path, "a", {"seconds": 2.0})
    (write(tmp_path, "b") / "results.jsonl").write_text(content)
    (tmp_path / "campaigns" / "c").mkdir()
    assert run_durations.known(tmp_path) == {("churn", "correct"): 2.0}
    assert run_durations.known(tmp_path / "none") == {}
