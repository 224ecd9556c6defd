"""Each known defect of the slice tracker leaves the allocator with an outdated slice, under a
schedule of two informers; the correct code never does.
"""

import pytest

from tests.detection import stages
from tests.detection.schedules import slice_plays

pytestmark = pytest.mark.detection


schedules = pytest.mark.parametrize(
    "schedule", slice_plays.SCHEDULES, ids=[item.perform.__name__ for item in slice_plays.SCHEDULES]
)


@schedules
@pytest.mark.parametrize("defect", sorted(slice_plays.EXPOSED))
def test_a_defect_frees_a_tainted_device_under_its_schedule_and_no_other(
    stage: stages.Stage, schedule: slice_plays.Schedule, defect: str
) -> None:
    play = slice_plays.Play(stage, defect)
    schedule.perform(play)
    stage.finish()
    assert play.is_free() == (defect == schedule.exposes)


@schedules
def test_the_correct_code_keeps_it_back(
    stage: stages.Stage, schedule: slice_plays.Schedule
) -> None:
    play = slice_plays.Play(stage)
    assert play.is_free()
    schedule.perform(play)
    stage.finish()
    assert not play.is_free()
    assert stage.arrivals[schedule.proof] == 1
