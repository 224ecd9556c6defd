"""Every known defect of what is allocated, and where pods are bound, is caught by its check;
correct code never is.
"""

import pytest

from harness.checks import verdicts
from tests.detection import placement_plays

pytestmark = pytest.mark.detection
plays = pytest.mark.parametrize("play", placement_plays.PLAYS, ids=lambda play: str(play.exposes))


@plays
def test_a_defect_is_caught_by_its_check(play: placement_plays.Play) -> None:
    found = placement_plays.judge(play, play.exposes)
    assert found[play.check] is verdicts.Verdict.INVALID


@plays
def test_the_correct_code_keeps_all_promises(play: placement_plays.Play) -> None:
    found = placement_plays.judge(play)
    assert found[play.check] is verdicts.Verdict.VALID
    assert set(found.values()) == {verdicts.Verdict.VALID}
