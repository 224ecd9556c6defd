"""Every world that the catalogue names for a known defect finds it; correct code is well in it.

The decisions of the run, as a token has them, are a schedule that always shows the defect.
"""

import pytest

from harness.explore.search import search_campaign, tokens
from harness.explore.worlds import world_catalogue
from harness.run.defects import known_defects
from tests.support import world_searches

pytestmark = [pytest.mark.detection, pytest.mark.slow]
NAMED = [(name, world) for name, facts in known_defects.facts().items() for world in facts.worlds]
SCHEDULES_MAX = 500
"""A search that needs more has got worse: the longest one takes 177."""
CORRECT_SCHEDULES = 30
REPLAYS = 5
SEEDS = {
    ("revision-compared-early", "pod-arrives-during-binding"): 9,
    ("revision-compared-early", "four-claims-two-devices"): 8,
    ("assume-cache-shared-drain", "pod-arrives-during-binding"): 1,
    ("assume-cache-shared-drain", "four-claims-two-devices"): 21,
    ("slice-tracker-shared-drain", "taint-rule"): 1,
    ("slice-tracker-unlocked-merge", "taint-rule"): 15,
    ("in-flight-removed-first", "pod-arrives-during-binding"): 4,
    ("unreserve-restores-written-claim", "second-claim-deleted"): 6,
}
"""Seeds with which the searches that would take longest find something soon."""


@pytest.mark.parametrize(("defect", "world"), NAMED)
def test_a_world_finds_the_defect(defect: str, world: str) -> None:
    seed = SEEDS.get((defect, world), 3)
    progress = world_searches.explored(world, defect, schedules=SCHEDULES_MAX, seed=seed)
    finding, decisions = progress.findings[0]
    token = tokens.Token(scenario=world, defects=(defect,), decisions=tuple(decisions))
    replayed = {search_campaign.replay(token).finding for _ in range(REPLAYS)}
    assert replayed == {finding}


def is_explored_elsewhere(world: str) -> bool:
    """The first schedules of these, in the same order, are
    `unit/explore/search/test_defects_are_found.py::test_the_correct_subject_is_left_alone`.
    """
    return world_catalogue.WORLDS[world].hazard is None and "users" not in world


@pytest.mark.parametrize(
    "world", sorted({world for _, world in NAMED if not is_explored_elsewhere(world)})
)
def test_a_world_finds_nothing_without_a_defect(world: str) -> None:
    assert world_searches.explored(world, schedules=CORRECT_SCHEDULES).findings == []
