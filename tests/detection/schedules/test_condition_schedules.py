"""Known defects of binding conditions, while a device is not ready: the judge sees them."""

import pytest

from harness.checks import verdicts
from tests.detection import stages
from tests.detection.schedules import condition_plays

pytestmark = pytest.mark.detection


def perform(stage: stages.Stage, *chosen: str) -> condition_plays.Play:
    play = condition_plays.Play(stage, *chosen)
    play.perform()
    stage.finish()
    return play


@pytest.mark.parametrize("defect", stages.DEFECTS)
def test_a_defect_shows_if_this_is_its_schedule(stage: stages.Stage, defect: str) -> None:
    found = perform(stage, defect).judged()
    is_exposed = defect in condition_plays.EXPOSED
    assert found.verdict is (verdicts.Verdict.INVALID if is_exposed else verdicts.Verdict.VALID)


def test_the_correct_code_waits_for_the_driver(stage: stages.Stage) -> None:
    found = perform(stage).judged()
    assert (found.verdict, found.examined_count) == (verdicts.Verdict.VALID, 1)
    assert stage.arrivals["binder", condition_plays.WAITING] == 1
