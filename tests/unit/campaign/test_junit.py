"""junit.xml of campaigns: failures, errors, passed cases, and missed controls."""

import pathlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from harness.campaign import (
    campaign_plan,
    hunting,
    junit_files,
    plugin,
    purposes,
    results,
    summaries,
)
from harness.checks import verdicts

pytestmark = pytest.mark.slow

VALID, UNKNOWN, INVALID = verdicts.Verdict
RUNS: dict[str, Any] = {
    "correct-0": [VALID],
    "correct-1": [INVALID],
    "correct-2": [UNKNOWN],
    "correct-3": [None],
    "caught-0": [INVALID],
    "caught-late-0": [VALID, UNKNOWN, INVALID],
    "missed-0": [VALID] * purposes.ATTEMPTS,
    "broken-0": [None],
}
"""Subject and repetition -> the verdicts of its attempts; None: the run could not be executed."""


def plan() -> campaign_plan.CampaignPlan:
    runs = [name.rpartition("-") for name in RUNS]
    planned = [
        campaign_plan.PlannedRun(
            scenario="churn",
            title="churn",
            purpose=purposes.Purpose("subject" if subject == "correct" else "control"),
            defects=[] if subject == "correct" else [subject],
            number=place,
            repetition=int(number),
            seed=1,
        )
        for place, (subject, _, number) in enumerate(runs, start=1)
    ]
    return campaign_plan.CampaignPlan(seed=1, reports="reports", cluster={}, runs=planned)


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A campaign of the runs above, without clusters."""
    outcomes: dict[str, Iterator[verdicts.Verdict | None]] = {}

    def attempt(item: plugin.RunItem, number: int) -> results.RunResult:
        run = item._run
        name = f"{run.subject}-{run.repetition}"
        verdict = next(outcomes.setdefault(name, iter(RUNS[name])))
        return results.RunResult(
            number=run.number,
            attempt=number,
            scenario="churn",
            subject=run.subject,
            purpose=run.purpose,
            seconds=0.1,
            verdict=verdict,
            double_allocations=int(verdict is INVALID),
            reason="because",
            directory=f"{tmp_path}/churn/20260101T000000Z-aa",
            error="" if verdict else "no engine",
        )

    monkeypatch.setattr(plugin.RunItem, "_attempt", attempt)
    found = hunting.hunt(plan(), tmp_path, listener=lambda result: None).results
    assert len(found) == sum(len(attempts) for attempts in RUNS.values()), "each attempt once"
    junit_files.write(tmp_path, plan(), found)
    return tmp_path


def cases(path: pathlib.Path) -> dict[str, ET.Element]:
    found = {case.get("name", ""): case for case in ET.parse(path).getroot().iter("testcase")}
    assert all(re.fullmatch(r"churn\[[^][]+\]", name) for name in found)
    return {name.removeprefix("churn[").removesuffix("]"): case for name, case in found.items()}


def message(case: ET.Element, kind: str) -> str:
    element = case.find(kind)
    assert element is not None
    return element.get("message", "")


def test_what_fails_is_told_apart(folder: pathlib.Path) -> None:
    found = cases(folder / summaries.JUNIT_NAME)
    failed = {name for name, case in found.items() if case.find("failure") is not None}
    in_error = {name for name, case in found.items() if case.find("error") is not None}
    assert failed == {"correct-1", "missed-0"}
    assert in_error == {"correct-2", "correct-3", "broken-0"}
    assert set(found) == set(RUNS)
    assert "INVALID: because" in message(found["correct-1"], "failure")
    assert f"control not caught, attempts: {purposes.ATTEMPTS}" in message(
        found["missed-0"], "failure"
    )
    assert "UNKNOWN: because" in message(found["correct-2"], "error")
    assert "could not be executed: no engine" in message(found["correct-3"], "error")


def test_a_control_that_was_caught_late_tells_its_misses(folder: pathlib.Path) -> None:
    output = cases(folder / summaries.JUNIT_NAME)["caught-late-0"].findtext("system-out", "")
    assert "attempt 1: VALID (not caught) because" in output
    assert "attempt 3: INVALID (caught) because" in output


def test_a_run_whose_process_died_is_named_and_told(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt(item: plugin.RunItem, number: int) -> results.RunResult:
        raise RuntimeError(f"no attempt {number}")

    monkeypatch.setattr(plugin.RunItem, "_attempt", attempt)
    found = hunting.hunt(plan(), tmp_path, listener=lambda result: None).results
    assert len(found) == len(RUNS)
    assert {(run.scenario, run.subject) for run in found} == {
        ("churn", name.rpartition("-")[0]) for name in RUNS
    }
    assert all("no attempt 0" in run.error for run in found)


def test_the_counts_of_the_suite(folder: pathlib.Path) -> None:
    (suite,) = ET.parse(folder / summaries.JUNIT_NAME).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("8", "2", "3")


def test_cases_are_named_by_scenario_and_subject_and_no_path_is_told(folder: pathlib.Path) -> None:
    """The machine, and the library that wrote the file, are of no interest to a CI system."""
    text = (folder / summaries.JUNIT_NAME).read_text()
    classes = {case.get("classname") for case in ET.fromstring(text).iter("testcase")}
    assert classes == {f"churn ({name.rpartition('-')[0]})" for name in RUNS}
    assert ET.fromstring(text).get("name") == "flake-hunt"
    for strange in ("campaign.json", "pytest tests", str(folder), "propert"):
        assert strange not in text
    assert "churn/20260101T000000Z-aa" in text


def test_paths_of_an_error_are_those_in_the_package_and_the_reports(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "reports" / "campaigns" / "one"
    folder.mkdir(parents=True)

    def attempt(item: plugin.RunItem, number: int) -> results.RunResult:
        raise RuntimeError(f"{folder.parents[1]}/churn/x {plugin.__file__} {number}")

    monkeypatch.setattr(plugin.RunItem, "_attempt", attempt)
    found = hunting.hunt(plan(), folder, listener=lambda result: None).results
    junit_files.write(folder, plan(), found)
    text = (folder / summaries.JUNIT_NAME).read_text()
    assert "churn/x harness/campaign/plugin.py" in text
    assert str(pathlib.Path(plugin.__file__).parents[2]) not in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize(("done", "workers"), [(0, 3), (6, 2)])
def test_no_more_workers_are_started_than_runs_are_left(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, done: int, workers: int
) -> None:
    """Each would import everything and then wait."""
    asked: list[str] = []

    def main(arguments: list[str], plugins: object) -> pytest.ExitCode:
        del plugins
        asked.extend(arguments)
        return pytest.ExitCode.OK

    monkeypatch.setattr(pytest, "main", main)
    left = msgspec.structs.replace(plan(), jobs=3, done=list(range(done)))
    assert len(left.runs) == 8
    hunting.hunt(left, tmp_path, listener=lambda result: None)
    assert [item.partition("*")[0] for item in asked if "*popen" in item] == [str(workers)]


def test_scenarios_that_were_left_out_are_skipped_with_the_reason() -> None:
    left = msgspec.structs.replace(plan(), runs=[], left_out={"one": "no carrier"})
    (suite,) = ET.fromstring(junit_files.render(left, []))
    assert (suite.get("tests"), suite.get("skipped")) == ("1", "1")
    (case,) = suite
    (skipped,) = case
    assert (case.get("name"), skipped.tag) == ("one", "skipped")
    assert skipped.get("message") == "no carrier"
