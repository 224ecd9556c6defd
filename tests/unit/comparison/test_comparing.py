"""Comparisons of runs and campaigns: what differs is found, and chance is not taken for it."""

import itertools
import json
import math
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from harness import errors, rates
from harness.comparison import comparing, comparison_texts, documents
from harness.comparison.documents import Answer
from harness.rates import Rate
from tests.histories import archives

RUNS = 30
LOAD = {"name": "churn", "traffic": {"users": 8, "duration_s": 5.0}, "subject": {"parallelism": 1}}


def side(
    reports: pathlib.Path,
    name: str,
    verdict: str = "VALID",
    *,
    runs: int = RUNS,
    scenario: str = "churn",
    **changes: Any,
) -> pathlib.Path:
    """A folder of runs that were all judged alike; their plans are changed afterwards."""
    plan = {"settings": LOAD} | changes
    made = archives.run(reports / name, name, verdict, scenario=scenario)
    archives.repeated(made, runs, plan=plan)
    shutil.rmtree(made.path)
    return reports / name


def compare(*paths: pathlib.Path, **options: Any) -> documents.Comparison:
    return comparing.compare(paths, **options)


def test_one_subject_twice_does_not_differ(tmp_path: pathlib.Path) -> None:
    found = compare(side(tmp_path, "one"), side(tmp_path, "two"))
    assert (found.answer, found.exit_code) == (Answer.SAME, 0)
    [pair] = found.rows
    assert pair.first.conclusive == pair.second.conclusive == RUNS
    assert pair.first.low == 0.0
    assert pair.first.high == pytest.approx(0.1157, abs=1e-4)
    assert found.settings == []
    assert found.summary.startswith("no difference found: INVALID in A 0 of 30 runs (0 to 12 %)")
    assert found.summary.endswith("; one of 14 percentage points or more is excluded")


def test_a_defect_is_worse_than_the_correct_subject(tmp_path: pathlib.Path) -> None:
    bad = side(tmp_path, "bad", "INVALID", defects=["gather-not-atomic"], until_found=True)
    good = side(tmp_path, "good")
    for paths, answer in (((good, bad), Answer.WORSE), ((bad, good), Answer.BETTER)):
        found = compare(*paths)
        assert (found.answer, found.exit_code) == (answer, 10)
        [pair] = found.rows
        assert pair.text.startswith(f"B is {answer}: INVALID in A ")
        assert "30 of 30 runs (88 to 100 %)" in pair.text
        assert pair.corrected_p_value is not None
        assert pair.corrected_p_value < 0.001
        assert pair.text in found.summary
        assert {item.key for item in found.settings} == {"subject", "until_found"}


def test_settings_come_with_the_scenarios_in_which_they_differ(tmp_path: pathlib.Path) -> None:
    other = LOAD | {"subject": {"parallelism": 16}}
    first = side(tmp_path, "one", versions={"flake-hunt": "0.1.0"}, jobs=1)
    changes = {"versions": {"flake-hunt": "0.2.0"}, "settings": other, "jobs": 4}
    second = side(tmp_path, "two", **changes)
    for file in second.glob("*/*/verdict.json"):
        judges = {"version": "9.9", "digest": "sha256:0123456789abcdef"}
        file.write_text(json.dumps(json.loads(file.read_bytes()) | {"judges": judges}))
    found = compare(first, second)
    values = {item.key: (item.first_values, item.second_values) for item in found.settings}
    assert values.pop("judges")[1] == ["9.9 0123456789ab"]
    assert values == {
        "jobs": (["1"], ["4"]),
        "settings.subject.parallelism": (["1"], ["16"]),
        "versions.flake-hunt": (["0.1.0"], ["0.2.0"]),
    }
    assert "were judged by different checks" in found.cautions[0]
    assert found.cautions[1:] == ["--jobs differs, and with it the speed at which processes race"]


def test_another_load_is_not_compared(tmp_path: pathlib.Path) -> None:
    other = LOAD | {"traffic": {"users": 96, "duration_s": 5.0}}
    found = compare(side(tmp_path, "one"), side(tmp_path, "two", "INVALID", settings=other))
    assert (found.answer, found.rows) == (Answer.UNDECIDED, [])
    assert [item.side for item in found.not_compared] == ["A", "B"]
    assert found.not_compared[0].reason == "the load differs: traffic.users is 8 and 96"
    assert found.summary == "cannot tell: no runs can be compared; not compared: 2 groups of runs"
    found = compare(tmp_path / "one", side(tmp_path, "three", scenario="storm"))
    assert [item.reason for item in found.not_compared] == [
        f"{name} has no runs to compare it with" for name in "BA"
    ]


def test_unknown_runs_are_not_valid_ones(tmp_path: pathlib.Path) -> None:
    found = compare(side(tmp_path, "one", "UNKNOWN"), side(tmp_path, "two", "INVALID"))
    [pair] = found.rows
    assert found.answer is Answer.UNDECIDED
    assert (pair.first.unknown, pair.first.conclusive) == (RUNS, 0)
    assert pair.text.startswith("cannot tell, no run of A is VALID or INVALID: INVALID in A 0 of 0")
    assert "30 of 30 runs of A are UNKNOWN" in found.cautions[0]


@pytest.mark.parametrize(("runs", "answer"), [(3, Answer.UNDECIDED), (4, Answer.WORSE)])
def test_three_valid_runs_and_three_invalid_ones_decide_nothing(
    tmp_path: pathlib.Path, runs: int, answer: Answer
) -> None:
    first = side(tmp_path, "good", runs=runs)
    found = compare(first, side(tmp_path, "bad", "INVALID", runs=runs))
    assert found.answer is answer


def test_several_scenarios_are_added_up_and_not_averaged(tmp_path: pathlib.Path) -> None:
    sides = []
    for name, verdict in (("one", "VALID"), ("two", "INVALID")):
        runs = [
            archives.run(tmp_path, f"{name}-{number}", verdict, scenario=f"s-{number % 4}")
            for number in range(12)
        ]
        sides.append(archives.campaign(tmp_path, name, runs))
    found = compare(*sides)
    *scenarios, whole = found.rows
    assert len(scenarios) == 4
    assert whole.answer is Answer.WORSE
    assert whole.text == "B is worse over 4 scenarios and subjects"
    assert whole.p_value == pytest.approx(2 / 20**4)


def test_equal_subjects_are_paired_and_one_that_is_left_on_each_side(
    tmp_path: pathlib.Path,
) -> None:
    mine = [archives.run(tmp_path, "a", changes={"defects": ["x"]}), archives.run(tmp_path, "b")]
    kube = {"subject": "kube-scheduler", "versions": {"scheduler": "kube-scheduler v1.36.2"}}
    theirs = [
        archives.run(tmp_path, "c", changes={"defects": ["x"]}),
        archives.run(tmp_path, "d", changes=kube),
    ]
    campaigns = [archives.campaign(tmp_path, "1", mine), archives.campaign(tmp_path, "2", theirs)]
    found = compare(*campaigns)
    subjects = {(pair.first.subject, pair.second.subject) for pair in found.scenario_rows}
    assert subjects == {("x", "x"), ("correct", "kube-scheduler v1.36.2")}


def test_runs_without_a_verdict_are_left_out_and_said(tmp_path: pathlib.Path) -> None:
    first, second = side(tmp_path, "one", runs=9), side(tmp_path, "two", runs=9)
    torn, unjudged = sorted(first.glob("*/*/verdict.json"))[:2]
    torn.write_bytes(torn.read_bytes()[:100])
    unjudged.unlink()
    found = compare(first, second)
    assert found.sides[0].runs == 7
    [damaged, missing] = found.sides[0].left_out
    assert "damaged: verdict.json is damaged" in damaged
    assert "not judged" in missing
    assert found.rows[0].answer is Answer.SAME
    assert (found.answer, found.exit_code) == (Answer.UNDECIDED, 20), "they may be INVALID"
    assert found.summary.endswith("; runs of A could not be read")
    assert compare(side(tmp_path, "bad", "INVALID"), first).answer.fix_exit_code == 20


def test_a_scenario_that_cannot_be_told_is_not_the_same(tmp_path: pathlib.Path) -> None:
    """Two of two runs against none of two, beside a scenario with many runs that are all VALID."""
    sides = []
    for name, verdict in (("one", "VALID"), ("two", "INVALID")):
        many = archives.repeated(archives.run(tmp_path, name, scenario="many"), 20)
        few = [archives.run(tmp_path, f"{name}{n}", verdict, scenario="few") for n in (1, 2)]
        sides.append(archives.campaign(tmp_path, name, [*many, *few]))
    found = compare(*sides)
    assert {pair.scenario: pair.answer for pair in found.scenario_rows} == {
        "few": Answer.UNDECIDED,
        "many": Answer.SAME,
    }
    assert (found.answer, found.exit_code) == (Answer.UNDECIDED, 20)
    assert found.summary.startswith("cannot tell in 1 of 2 scenarios, such as few: ")


def campaigns(
    tmp_path: pathlib.Path, purpose: str, *, subjects: int = 3, others: int = 20
) -> list[pathlib.Path]:
    """Two campaigns of subjects that differ, with controls that do not."""
    made = []
    for name, verdict in (("one", "VALID"), ("two", "INVALID")):
        plan = {"defects": ["x"]} if purpose == "control" else {"remedies": ["y"]}
        mine = [archives.run(tmp_path, f"{name}{n}", verdict) for n in range(subjects)]
        rest = archives.repeated(archives.run(tmp_path, name, "INVALID"), others, plan=plan)
        made.append(
            archives.campaign(
                tmp_path,
                name,
                [*mine, *rest],
                purpose=lambda number: "subject" if number < subjects else purpose,
            )
        )
    return made


@pytest.mark.parametrize("purpose", ["control", "hazard", "remedy"])
def test_runs_that_are_not_of_the_subject_do_not_enter(
    tmp_path: pathlib.Path, purpose: str
) -> None:
    found = compare(*campaigns(tmp_path, purpose, subjects=2))
    assert (found.answer, found.exit_code) == (Answer.UNDECIDED, 20)
    assert [side.others for side in found.sides] == [20, 20]
    [pair] = found.rows
    assert (pair.first.conclusive, pair.second.conclusive) == (2, 2)
    notes = next(comparison_texts.tables(found)).notes
    assert "A: 20 runs of controls, hazards and remedies are not compared" in notes


def copied(folder: pathlib.Path, copies: int) -> pathlib.Path:
    """Each run directory of a folder of runs, several times."""
    for run in sorted((folder / "churn").iterdir()):
        for number in range(copies - 1):
            shutil.copytree(run, run.with_name(f"{run.name}-copy-{number}"))
    return folder


def test_copies_of_a_run_count_once(tmp_path: pathlib.Path) -> None:
    """Two runs with eight copies each are two runs, and show no fix."""
    bad = copied(side(tmp_path, "bad", "INVALID", runs=2), 8)
    good = copied(side(tmp_path, "good", runs=2), 8)
    found = compare(bad, good)
    assert [(item.runs, item.copies) for item in found.sides] == [(2, 14), (2, 14)]
    assert (found.answer, found.exit_code) == (Answer.UNDECIDED, 20)
    assert (
        "A: 14 copies of these runs are not counted" in next(comparison_texts.tables(found)).notes
    )
    shown = compare(side(tmp_path, "b", "INVALID", runs=8), side(tmp_path, "g", runs=8))
    assert shown.answer is Answer.BETTER, "as many runs that are none"


def test_copies_that_differ_are_named(tmp_path: pathlib.Path) -> None:
    good = copied(side(tmp_path, "good", runs=20), 2)
    file = sorted(good.glob("churn/*-copy-0/verdict.json"))[0]
    changed = json.loads(file.read_bytes()) | {"verdict": "INVALID"}
    file.write_text(json.dumps(changed))
    found = compare(good, side(tmp_path, "other"))
    assert (found.sides[0].invalid, found.sides[0].runs) == (1, 20)
    assert "have different verdicts" in found.sides[0].left_out[0]
    assert found.exit_code == 20


def test_a_large_difference_is_rarely_called_the_same() -> None:
    """With a difference of half the runs the answer is wrong with a probability below 5 %."""
    for runs in (7, 12, 20):
        for first in (0.0, 0.1, 0.25, 0.4, 0.5):
            wrong = sum(
                chance(failed, runs, first) * chance(other, runs, first + 0.5)
                for failed, other in itertools.product(range(runs + 1), repeat=2)
                if is_same(Rate(failed, runs), Rate(other, runs))
            )
            assert wrong < 0.05


def is_same(first: Rate, second: Rate) -> bool:
    return max(map(abs, rates.fall(first, second))) < documents.LARGE


def chance(failed: int, runs: int, rate: float) -> float:
    return math.comb(runs, failed) * rate**failed * (1 - rate) ** (runs - failed)


def test_equal_rates_are_the_same_with_enough_runs(tmp_path: pathlib.Path) -> None:
    """The least number of runs without any failure for which the answer is not open."""
    found = [compare(*[side(tmp_path, f"{x}{n}", runs=n) for x in "ab"]) for n in (1, 6, 7)]
    assert [one.answer for one in found] == [Answer.UNDECIDED, Answer.UNDECIDED, Answer.SAME]
    assert found[0].summary.startswith("cannot tell")


RESULTS: list[tuple[dict[str, Any] | str, str]] = [
    ('{"scenario": "churn", "verdict": "INVALID"', "results.jsonl: the last line is cut"),
    ({"cut": True, "verdict": "UNKNOWN", "directory": "a"}, ""),
    ({"cut": True}, ""),
    ({"directory": "x" * 5000}, "cannot be read (File name too long)"),
    ({"error": "Traceback:\n  a.py:1\nE  KeyError\na.py:1: KeyError\n"}, ": a.py:1: KeyError"),
    ({"error": "x" * 5000}, "s, x: it could not be executed: " + "x" * 300),
    ({"error": "\n"}, "s, x: it could not be executed: "),
]


@pytest.mark.parametrize(("line", "told"), RESULTS, ids=range(len(RESULTS)))
def test_results_of_a_campaign_without_a_run_are_told_unless_a_budget_has_cut_them(
    tmp_path: pathlib.Path, line: dict[str, Any] | str, told: str
) -> None:
    runs = [archives.run(tmp_path, name) for name in ("one", "two")]
    folder = archives.campaign(tmp_path, "c", runs[:1])
    about = {"scenario": "s", "subject": "x"}
    text = line if isinstance(line, str) else json.dumps(about | line) + "\n"
    with (folder / "results.jsonl").open("a") as file:
        file.write(text)
    found = compare(folder, runs[1].path).sides[0]
    assert found.runs == 1
    assert [text[-len(told) :] for text in found.left_out] == [told] * bool(told)


def _bad(tmp_path: pathlib.Path) -> Iterator[tuple[pathlib.Path, str]]:
    yield tmp_path / "nothing", "is no folder"
    (tmp_path / "empty").mkdir()
    yield tmp_path / "empty", "has neither plan.json nor runs"
    (tmp_path / "file").write_text("x")
    yield tmp_path / "file", "is no folder"
    torn = archives.campaign(tmp_path, "c", [], planned=3)
    yield torn, "got none (it has no runs)"
    (torn / "campaign.json").write_text("{")
    yield torn, "it is damaged"
    made = archives.run(tmp_path, "unjudged")
    made.verdict.unlink()
    yield made.path, "it ended, but has no verdict.json"
    made.verdict.write_text('{"schema": 99}')
    yield made.path, "verdict.json is damaged (expected schema 4 to 8, got 99"


def test_bad_input_is_one_sentence(tmp_path: pathlib.Path) -> None:
    good = archives.run(tmp_path, "good").path
    for bad, why in _bad(tmp_path):
        with pytest.raises(errors.UsageError) as caught:
            compare(good, bad)
        assert why in str(caught.value)
        assert "\n" not in str(caught.value)


def test_the_same_runs_twice_are_refused(tmp_path: pathlib.Path) -> None:
    made = archives.run(tmp_path, "one")
    with pytest.raises(errors.UsageError, match="expected different runs or campaigns, got"):
        compare(made.path, made.path / ".." / "one")
    folder = archives.campaign(tmp_path, "c", [made])
    with pytest.raises(errors.UsageError, match="run one is in"):
        compare(made.path, folder)
    with pytest.raises(errors.UsageError, match="expected two runs or campaigns"):
        compare(made.path)
