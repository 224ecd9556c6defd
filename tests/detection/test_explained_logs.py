"""Logs of our own scheduler are explained: each known race by its name, correct code not at all.

The worlds run in virtual time under seeded interleavings; the store has the truth.
"""

import os
import pathlib

import pytest

from harness.log_analysis import analyses, analysis_results
from harness.log_analysis.signatures import Signature
from harness.model.answers import Verdict
from harness.subject.telemetry import klog
from tests.support import explored_logs

pytestmark = pytest.mark.detection
SEEDS = int(os.environ.get("FLAKE_HUNT_SEEDS", "45"))
DEFECTS = {
    "assume-cache-early-return": Signature.EARLY_RETURN,
    "assume-cache-shared-drain": Signature.EARLY_RETURN,
    "gather-not-atomic": Signature.GATHER,
    "revision-bumped-late": Signature.GATHER,
    "revision-compared-early": Signature.GATHER,
    "in-flight-removed-first": Signature.ACCOUNTING,
}
FIRST = {"assume-cache-shared-drain": 70}
"""Number of the first interleaving of a defect that is rare in random ones; 0 for the others."""
CORRECT = ("two-claims-one-device", "four-claims-two-devices", "object-touched", "watch-breaks")


def analysed(log: explored_logs.ExploredLog, tmp_path: pathlib.Path) -> analysis_results.Analysis:
    """The analysis of a log, which finds what the store has."""
    path = tmp_path / "scheduler.log"
    path.write_text(log.text)
    analysis = analyses.analyse([str(path)])
    found = {
        item.found.device: {item.found.first.claim, item.found.second.claim}
        for item in analysis.findings
    }
    assert found == log.doubles
    return analysis


@pytest.mark.parametrize(
    ("defect", "form"),
    [*((name, "text") for name in DEFECTS), ("assume-cache-early-return", "json")],
)
def test_the_race_of_a_defect_is_named(
    tmp_path: pathlib.Path, defect: str, form: klog.Form
) -> None:
    named = set()
    first = FIRST.get(defect, 0)
    for number in range(first, first + SEEDS):
        log = explored_logs.explore(
            "two-claims-one-device", number=number, defects=[defect], form=form
        )
        analysis = analysed(log, tmp_path)
        assert analysis.verdict.exit_code == (10 if log.doubles else 0), number
        named |= {item.cause.signature for item in analysis.findings}
    assert named == {DEFECTS[defect]}


def test_a_lost_answer_is_named(tmp_path: pathlib.Path) -> None:
    """The race that correct code has, too; three of these interleavings show it."""
    named = set()
    for number in range(187, 207):
        log = explored_logs.explore("answer-lost", number=number)
        analysis = analysed(log, tmp_path)
        named |= {(item.cause.signature, item.cause.is_certain) for item in analysis.findings}
    assert named == {(Signature.LOST_ANSWER, True)}


@pytest.mark.parametrize("world", CORRECT)
def test_correct_code_has_no_double_allocation_in_its_log(
    tmp_path: pathlib.Path, world: str
) -> None:
    for number in range(SEEDS // 2):
        log = explored_logs.explore(world, number=number)
        analysis = analysed(log, tmp_path)
        assert (list(analysis.findings), log.doubles) == ([], {}), number
        assert analysis.verdict is Verdict.VALID, (number, analysis.reasons)
        assert analysis.allocations > 0
