"""Contention: devices go from claim to claim, and several claims or pods wait at once."""

import pathlib

import pytest

from harness.checks import judging, verdicts
from harness.checks.evidence import contention
from harness.checks.holds import hold_history
from harness.history import plans
from tests.histories import building, language
from tests.support import cases

COMPETING = "a= b= a+D1 a-D1 b+D1"
"""Both wait at once, and the device goes from the one to the other."""
IN_TURN = "a+D1 a-D1 b= b+D1"
"""The second one comes when the device is free."""
APART = "a= b= a+D1 b+D2"


def _item(tmp_path: pathlib.Path, text: str, least: int) -> verdicts.CertificateItem | None:
    wanted = plans.Requirements(allocations_min=0, pods_running_min=0, reuse_min=least)
    directory = building.build(tmp_path / "run", text, requirements=wanted)
    judgement = judging.judge(directory)
    found = [item for item in judgement.certificate if item.name == "contention"]
    others = [item.name for item in judgement.certificate if not item.ok and item not in found]
    assert others == []
    is_valid = judgement.verdict is verdicts.Verdict.VALID
    assert is_valid is all(item.ok for item in found)
    return found[0] if found else None


@pytest.mark.parametrize(
    ("text", "ok", "reason"),
    [
        (
            COMPETING,
            True,
            "1 hold of a device that another claim had held (at least 1); up to 2 claims and 0 pods waited at once",
        ),
        (IN_TURN, False, "never more than 1 claim and 0 pods waited at once, expected 2 of either"),
        (APART, False, "0 holds of a device that another claim had held, expected at least 1"),
    ],
)
def test_both_signs_are_needed(tmp_path: pathlib.Path, text: str, ok: bool, reason: str) -> None:
    item = _item(tmp_path, text, 1)
    assert item is not None
    most_frequent = "; the most frequent API error: create pods 409 AlreadyExists (once)"
    assert (item.ok, item.reason.removesuffix(most_frequent)) == (ok, reason)


def test_a_plan_that_demands_none_is_not_asked(tmp_path: pathlib.Path) -> None:
    assert _item(tmp_path, IN_TURN, 0) is None


@pytest.mark.parametrize(("text", "claims", "pods"), cases.read(__file__, "waiting"))
def test_what_waits_at_once_is_counted(text: str, claims: int, pods: int) -> None:
    waiting = contention.Contention()
    hold_history.fold(language.observe(text), waiting)
    assert (waiting.claims.most, waiting.pods.most) == (claims, pods)


@pytest.mark.parametrize(
    ("text", "reused"), [("a+D1 b+D2", 0), ("a+D1 a~ b+D1 b~ c+D1", 2), ("a+D1 a-D1 a+D1", 0)]
)
def test_reuse_counts_other_claims(text: str, reused: int) -> None:
    assert contention.reuse(hold_history.fold(language.observe(text))) == reused


def test_waiting_pods_are_enough() -> None:
    """Of extended resources, the scheduler creates a claim when it allocates it."""
    waiting = contention.Contention()
    folded = hold_history.fold(language.observe("p:a q:b a+D1 a-D1 b+D1"), waiting)
    assert contention.answer(folded, waiting, 1)[0]
