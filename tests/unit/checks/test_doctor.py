"""Doctored run directories: no edit makes a verdict better, raises an error, or breaks a check.

`FLAKE_HUNT_DOCTORED=5000` judges 5,000 instead of 1,000; `python -m tests.histories.doctor`
goes on from there.
"""

import os
import pathlib
import random

import pytest

from harness.checks import verdicts
from tests.histories import doctor, edits, specimens

COUNT = int(os.environ.get("FLAKE_HUNT_DOCTORED", "1000"))


def test_no_edit_makes_a_verdict_better() -> None:
    tally = doctor.run(COUNT)
    assert tally.judged == COUNT
    assert [str(finding) for finding in tally.findings] == []


def test_specimens_have_their_verdicts(tmp_path: pathlib.Path) -> None:
    """Otherwise nothing would be shown by directories that are not VALID afterwards."""
    found = list(specimens.recorded())
    assert {item.verdict for item in found} == set(verdicts.Verdict)
    for chosen in found:
        directory = specimens.write(chosen, tmp_path / chosen.name, {})
        assert doctor.verdict_on(directory) is chosen.verdict


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
    *_, trailer = lines = content.splitlines()
    assert b'"count":%d,' % (len(lines) - 2) in trailer
