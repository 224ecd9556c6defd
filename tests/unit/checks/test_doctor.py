"""Doctored run directories: no edit makes a verdict better, raises an error, or breaks a check.

`FLAKE_HUNT_DOCTORED=50000` judges 50,000 instead of 500; `python -m tests.histories.doctor`
goes on from there.
"""

import os
import pathlib
import random
import re
from collections.abc import Callable

import pytest

from harness.checks import judging, verdicts
from harness.report import publishing
from tests.histories import audited_specimens, doctor, edits, specimens

PARTS = 5
"""Tests that share the directories, so that they run side by side."""
COUNT = int(os.environ.get("FLAKE_HUNT_DOCTORED", "500")) // PARTS


@pytest.mark.parametrize("part", range(PARTS))
def test_no_edit_makes_a_verdict_better(part: int) -> None:
    tally = doctor.run(COUNT, first=doctor.FIRST_SEED + part * COUNT)
    assert tally.judged == COUNT
    assert [str(finding) for finding in tally.findings] == []


def test_a_log_alone_makes_a_run_unknown(tmp_path: pathlib.Path) -> None:
    """Without its audit log, each of these runs would be VALID."""
    for chosen in audited_specimens.all_of_them():
        directory = specimens.write(chosen, tmp_path / chosen.name, {})
        judgement = judging.judge(directory)
        assert judgement.verdict is chosen.verdict
        missing = [item.name for item in judgement.certificate if not item.ok]
        assert missing == ["witness"] * (chosen.verdict is verdicts.Verdict.UNKNOWN)


def test_specimens_have_their_verdicts(tmp_path: pathlib.Path) -> None:
    """Otherwise nothing would be shown by directories that are not VALID afterwards."""
    found = list(specimens.recorded())
    assert {item.verdict for item in found} == set(verdicts.Verdict)
    for chosen in found:
        directory = specimens.write(chosen, tmp_path / chosen.name, {})
        assert doctor.verdict_on(directory) is chosen.verdict


def test_every_kind_of_journal_is_edited() -> None:
    """Also those of faults and of changes of pools, and the audit log."""
    names = {name for chosen in audited_specimens.all_of_them() for name in chosen.journals}
    assert {"audit/audit.log", "audit/audit.log.gz"} <= names
    [faulty] = [item for item in specimens.recorded() if "faults.jsonl" in item.files]
    assert {"pool-changes-kubelet.jsonl", "audit/audit.log"} <= set(faulty.journals)
    drawn = [edits.draw(faulty, random.Random(seed)) for seed in range(200)]
    assert {name for edit in drawn for name in edit.changed} == set(faulty.journals)


def test_a_verdict_that_became_better_is_found(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The positive control: a judge that overlooks everything."""
    chosen = next(item for item in specimens.golden() if item.verdict == "INVALID")
    monkeypatch.setattr(doctor, "verdict_on", lambda directory: verdicts.Verdict.VALID)
    [(finding, _)] = doctor.doctored([chosen], iter([1]), tmp_path)
    assert finding is not None
    assert "INVALID became VALID" in str(finding)


@pytest.mark.parametrize("seed", range(40))
def test_an_edit_changes_one_file_and_its_trailer_counts_right(seed: int) -> None:
    known = list(specimens.golden())
    chosen = known[seed % len(known)]
    edit = edits.draw(chosen, random.Random(seed))
    [(name, content)] = edit.changed.items()
    assert content is not None
    assert content != chosen.files[name]
    if not name.startswith("audit"):  # which has no trailer
        *_, trailer = lines = content.splitlines()
        assert b'"count":%d,' % (len(lines) - 2) in trailer


TIMES = {
    "negated": lambda ns: -ns,
    "backwards": lambda ns: 10**13 - ns,
    "still": lambda ns: 0,
    "before all": lambda ns: -(2**62),
}


@pytest.mark.parametrize("clock", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("name", ["device_exclusivity/INVALID", "recorded/INVALID-pod-churn"])
def test_clocks_that_go_back_in_every_file_break_nothing(
    tmp_path: pathlib.Path, name: str, clock: Callable[[int], int]
) -> None:
    def other(found: re.Match[bytes]) -> bytes:
        return found[1] + str(clock(int(found[2]))).encode()

    [chosen] = [item for item in specimens.all_of_them() if item.name == name]
    changed = {
        file: re.sub(rb'("(?:\w+_)?ns":)(-?\d+)', other, content)
        for file, content in chosen.files.items()
        if file.endswith(".jsonl")
    }
    directory = specimens.write(chosen, tmp_path / "run", changed)
    examination = judging.examine(directory)
    publishing.publish(examination)
    assert examination.judgement.verdict is verdicts.Verdict.INVALID
    assert directory.report.is_file()
