"""Every known defect of counters is caught by the judge of consumption, and correct code never."""

import pytest

from harness.checks import verdicts
from tests.detection import counter_plays

pytestmark = pytest.mark.detection
plays = pytest.mark.parametrize("play", counter_plays.PLAYS, ids=lambda play: str(play.exposes))


@plays
@pytest.mark.parametrize("defect", sorted(counter_plays.EXPOSED))
def test_a_defect_is_caught_where_it_shows(play: counter_plays.Play, defect: str) -> None:
    result = counter_plays.perform(play, defect)
    expected = verdicts.Verdict.INVALID if defect == play.exposes else verdicts.Verdict.VALID
    assert result.verdict is expected
    for violation in result.violations:
        kinds = {item.kind for item in violation.objects}
        assert kinds == {"ResourceClaim", "ResourceSlice"}
        assert "counter " in violation.text


@plays
def test_the_correct_allocator_uses_all_and_no_more(play: counter_plays.Play) -> None:
    result = counter_plays.perform(play)
    assert result.verdict is verdicts.Verdict.VALID
    assert result.examined_count >= 2
