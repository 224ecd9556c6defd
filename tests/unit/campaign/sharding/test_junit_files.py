"""junit.xml from results agrees with the one that pytest writes of the same campaign."""

import pathlib
import xml.etree.ElementTree as ET

import msgspec
import pytest

from harness.campaign import campaign_plan, hunting, junit_files, plugin, results
from tests.support import shards

PLAN = shards.campaign(subjects=4, controls=3)
SUBJECT, CONTROL = PLAN.runs[0], PLAN.runs[4]
OUTCOMES = {
    1: [shards.result(PLAN.runs[0])],
    2: [shards.violated(PLAN.runs[1])],
    3: [shards.result(PLAN.runs[2], verdict=shards.UNKNOWN, reason="a < b & \x00")],
    4: [shards.result(PLAN.runs[3], verdict=None, error="no engine")],
    5: [shards.result(PLAN.runs[4])],
    6: [*shards.missed(PLAN.runs[5], 1), shards.result(PLAN.runs[5], attempt=1)],
    7: shards.missed(PLAN.runs[6]),
}


@pytest.fixture
def found(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> list[results.RunResult]:
    def attempt(item: plugin.RunItem, number: int) -> results.RunResult:
        return OUTCOMES[item._run.number][number]

    monkeypatch.setattr(plugin.RunItem, "_attempt", attempt)
    return hunting.hunt(PLAN, tmp_path, listener=lambda result: None).results


def kinds(content: bytes) -> dict[str, tuple[str, list[str]]]:
    """Name of a case -> its outcome, and the attempts that its output names."""
    made = {}
    for case in ET.fromstring(content).iter("testcase"):
        outcome = next((kind for kind in ("failure", "error") if case.find(kind) is not None), "")
        lines = (case.findtext("system-out") or "").splitlines()
        tried = [line.rstrip() for line in lines if line.startswith("attempt")]
        made[case.get("name", "")] = (outcome, tried)
    return made


def test_cases_outcomes_and_attempts_are_those_of_pytest(
    tmp_path: pathlib.Path, found: list[results.RunResult]
) -> None:
    theirs = kinds((tmp_path / "junit.xml").read_bytes())
    ours = kinds(junit_files.render(PLAN.runs, found))
    assert list(ours) == [run.id for run in PLAN.runs]
    assert {name: outcome for name, (outcome, _) in ours.items()} == {
        name: outcome for name, (outcome, _) in theirs.items()
    }
    assert {name: len(tried) for name, (_, tried) in ours.items()} == {
        name: len(tried) for name, (_, tried) in theirs.items()
    }
    assert {outcome for outcome, _ in ours.values()} == {"", "failure", "error"}


def test_the_counts_are_those_of_the_cases(found: list[results.RunResult]) -> None:
    (suite,) = ET.fromstring(junit_files.render(PLAN.runs, found))
    counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped")]
    assert counts == ["7", "2", "2", "0"]


def test_a_run_without_a_result_is_an_error() -> None:
    for run in (SUBJECT, CONTROL):
        missing = shards.result(
            run,
            verdict=shards.UNKNOWN,
            missing=True,
            reason="shard 2 of 3 is missing",
            double_allocations=0,
        )
        (case,) = ET.fromstring(junit_files.render([run], [missing])).iter("testcase")
        error = case.find("error")
        assert error is not None
        assert error.get("message") == "UNKNOWN: shard 2 of 3 is missing"
        assert case.find("failure") is None


def test_a_run_that_was_cut_is_skipped() -> None:
    cut = shards.result(SUBJECT, verdict=None, cut=True, reason="the time budget ended")
    (suite,) = ET.fromstring(junit_files.render([SUBJECT], [cut]))
    (skipped,) = suite.iter("skipped")
    assert skipped.get("message") == "the time budget ended"
    assert [suite.get(name) for name in ("errors", "failures", "skipped")] == ["0", "0", "1"]


def test_runs_that_were_not_made_have_no_case() -> None:
    other = campaign_plan.PlannedRun(number=9, scenario="s", title="s", repetition=0, seed=1)
    content = junit_files.render([SUBJECT, other], OUTCOMES[1])
    assert list(kinds(content)) == [SUBJECT.id]


def test_cases_are_named_by_scenario_and_subject(tmp_path: pathlib.Path) -> None:
    """As in the file that pytest writes, and without the folder of the reports."""
    made = shards.result(SUBJECT, directory=f"{tmp_path}/pod-churn/20260101T000000Z-aa")
    folder = tmp_path / "campaigns" / "one"
    folder.mkdir(parents=True)
    error = shards.result(CONTROL, verdict=None, error=f"no {tmp_path}/pod-churn/x")
    junit_files.write(folder, [SUBJECT, CONTROL], [made, error])
    text = (folder / "junit.xml").read_text()
    assert [case.get("classname") for case in ET.fromstring(text).iter("testcase")] == [
        "pod-churn (correct)",
        f"pod-churn ({shards.DEFECT})",
    ]
    assert "attempt 1: VALID run 1 pod-churn/20260101T000000Z-aa" in text
    assert "no pod-churn/x" in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize(
    ("tested", "name"),
    [
        ("kube-scheduler v1.36.3", "pod-churn[kube-scheduler-0]"),
        ("kube-scheduler v1.37.0-alpha.0.12+f00", "pod-churn[kube-scheduler-0]"),
        ("kube-scheduler v1.36.3, mine 2.0", "pod-churn[kube-scheduler, mine-0]"),
        ("python as 1.36.2", "pod-churn[python as 1.36.2-0]"),
        ("", "pod-churn[correct-0]"),
    ],
)
def test_a_new_version_is_the_same_case_and_another_class(
    tmp_path: pathlib.Path, tested: str, name: str
) -> None:
    run = msgspec.structs.replace(SUBJECT, tested=tested, repetition=0)
    (case,) = ET.fromstring(junit_files.render([run], OUTCOMES[1])).iter("testcase")
    assert case.get("name") == name
    assert case.get("classname") == f"pod-churn ({tested or 'correct'})"
    file = tmp_path / "junit.xml"
    file.write_text(f'<testsuite><testcase name="{run.id}" classname="x"/></testsuite>')
    junit_files.rename(file, [run])
    (renamed,) = ET.parse(file).getroot().iter("testcase")
    assert renamed.attrib == {"name": name, "classname": case.get("classname")}
