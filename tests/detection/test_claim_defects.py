"""Every known defect of the writes of claims is caught by its check; correct code never is."""

import pytest

from harness.checks import verdicts
from tests.detection import claim_plays

pytestmark = pytest.mark.detection
plays = pytest.mark.parametrize("play", claim_plays.PLAYS, ids=lambda play: str(play[0]))


@plays
def test_a_defect_is_caught_by_its_check(play: claim_plays.Play) -> None:
    defect, check, _ = play
    assert claim_plays.judge(play, defect)[check] is verdicts.Verdict.INVALID


@plays
def test_the_correct_code_keeps_all_promises(play: claim_plays.Play) -> None:
    found = claim_plays.judge(play)
    assert play[1] in found
    assert set(found.values()) == {verdicts.Verdict.VALID}
