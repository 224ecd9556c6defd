"""Two informers of the slice tracker, and the schedules that expose its known defects.

A rule that taints the only device comes, while the slice changes. The rule stays, so in the end the
device must not be given to a claim.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from harness.subject import assembling
from harness.subject.allocation import allocated_states, allocators, inventories
from harness.subject.slice_tracking import slice_trackers
from tests.detection import stages
from tests.support import api_objects

pytestmark = pytest.mark.detection
Object = dict[str, Any]
POPPED = "slice-tracker.event.popped"
RULE: Object = {
    "metadata": {"name": "r", "uid": "r", "resourceVersion": "2"},
    "spec": {"deviceSelector": {}, "taint": {"key": "broken", "effect": "NoSchedule"}},
}


def piece(version: int) -> Object:
    made = api_objects.slice_of("a")
    meta = {**made["metadata"], "uid": "s", "resourceVersion": str(version)}
    return {**made, "metadata": meta}


class Play:
    """The stage with its two informers."""

    def __init__(self, stage: stages.Stage, *defects: str) -> None:
        self.stage = stage
        self._inventory = inventories.Inventory()
        parts = assembling.parts(defects)
        self._tracker: slice_trackers.SliceTracker = parts.slice_tracker([self._inventory])
        self._tracker.on_add(piece(1), initial=True)

    def start_slices(self) -> None:
        """The slice's new version, with the same device, is delivered."""
        self.stage.start("slices", lambda: self._tracker.on_update(piece(1), piece(3)))

    def start_rules(self) -> None:
        self.stage.start("rules", lambda: self._tracker.rules.on_add(RULE, initial=False))

    def is_free(self) -> bool:
        allocator = allocators.Allocator(
            self._inventory.snapshot(),
            allocated_states.AllocatedState(),
            {api_objects.CLASS: api_objects.device_class()},
            [api_objects.claim("c", version=1)],
        )
        return allocator.allocate(api_objects.node()) is not None


def the_older_event_is_delivered_last(play: Play) -> None:
    """The slice's event was taken off the queue first, but is delivered after the rule's."""
    play.stage.hold("slices", POPPED)
    play.start_slices()
    play.start_rules()
    play.stage.release("slices")


def the_older_merge_is_stored_last(play: Play) -> None:
    """The slice was merged before the rule came, and is stored after it was merged with it."""
    play.stage.hold("slices", "slice-tracker.merged")
    play.start_slices()
    play.start_rules()
    if play.stage.arrivals["slices", "slice-tracker.merged"]:
        play.stage.release("slices")


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A schedule, the defect that it exposes, and how one sees that the correct code was put to the
    test.
    """

    perform: Callable[[Play], None]
    exposes: str
    proof: tuple[str, str]
    """(actor, step) that the correct code comes to."""


SCHEDULES = [
    Schedule(
        the_older_event_is_delivered_last,
        "slice-tracker-shared-drain",
        ("rules", "slice-tracker.waiting"),
    ),
    Schedule(the_older_merge_is_stored_last, "slice-tracker-unlocked-merge", ("rules", POPPED)),
]
EXPOSED = frozenset(schedule.exposes for schedule in SCHEDULES)


schedules = pytest.mark.parametrize(
    "schedule", SCHEDULES, ids=[item.perform.__name__ for item in SCHEDULES]
)


@schedules
@pytest.mark.parametrize("defect", sorted(EXPOSED))
def test_a_defect_frees_a_tainted_device_under_its_schedule_and_no_other(
    stage: stages.Stage, schedule: Schedule, defect: str
) -> None:
    play = Play(stage, defect)
    schedule.perform(play)
    stage.finish()
    assert play.is_free() == (defect == schedule.exposes)


@schedules
def test_the_correct_code_keeps_it_back(stage: stages.Stage, schedule: Schedule) -> None:
    play = Play(stage)
    assert play.is_free()
    schedule.perform(play)
    stage.finish()
    assert not play.is_free()
    assert stage.arrivals[schedule.proof] == 1
