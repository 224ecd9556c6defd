"""Known defects of claims for extended resources, while a new claim is not delivered.

Two hand one device out twice, and one leaves the claim out of the pod's status; the correct code
and the other defects do neither.
"""

import pytest

from harness.subject.extended_resources import extended_claims
from tests.detection import stages
from tests.detection.schedules import extended_plays

pytestmark = pytest.mark.detection


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extended_claims, "WAIT_S", 0.0)


def perform(stage: stages.Stage, *chosen: str) -> extended_plays.Play:
    play = extended_plays.Play(stage, *chosen)
    play.perform()
    stage.finish()
    return play


@pytest.mark.parametrize("defect", stages.DEFECTS)
def test_a_defect_shows_if_this_is_its_schedule(stage: stages.Stage, defect: str) -> None:
    play = perform(stage, defect)
    assert play.holders() == (2 if defect in extended_plays.EXPOSED else 1)
    assert play.names_its_claim() is (defect not in extended_plays.UNNAMED)


def test_the_correct_code_gives_it_once(stage: stages.Stage) -> None:
    play = perform(stage)
    assert play.holders() == 1
    assert stage.arrivals["binder", extended_plays.AWAITING] == 1
    assert play.world.gatherer.gather().devices == {"gpu.example.com/worker-0/a"}
    assert play.world.flight.listed() == []
