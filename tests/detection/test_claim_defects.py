"""Every known defect of the writes of claims is caught by its check; correct code never is."""

import pytest

from harness.checks import verdicts
from harness.checks.claims import reservations
from harness.subject.objects import claims
from tests.detection import claim_plays
from tests.histories import claim_judging

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


def test_a_reservation_for_another_pod_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler writes the uid of a pod that had the same name before; none was ever shipped."""
    right = claims.reservation_of
    monkeypatch.setattr(claims, "reservation_of", lambda pod: {**right(pod), "uid": "uid-before"})
    answer = claim_judging.result(reservations.CLAIM_RESERVATIONS.name, claim_plays.bind([]))
    assert answer.verdict is verdicts.Verdict.INVALID
    assert "uid-before" in answer.violations[0].text
