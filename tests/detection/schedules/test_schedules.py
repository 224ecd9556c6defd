"""Every known defect hands one device out twice under a schedule of two or three threads; the
correct code never does.

The node has one device. It is planned for claim `c` of pod `p`, whose binding the binder performs;
the scheduler decides about pod `q` with claim `d`, and the informer delivers what the server has
said. All of it is the real code, and so is the store.
"""

import collections
import dataclasses
import pathlib
import re
from collections.abc import Callable

import pytest

from harness.client import apis
from harness.run.defects import known_defects
from harness.subject import assembling
from harness.subject.objects import claims
from tests.detection import stages
from tests.support import api_objects, local_servers, plugin_world

pytestmark = pytest.mark.detection
DEVICE = api_objects.device_id("a")
POPPED = "assume-cache.event.popped"
FOLDER = pathlib.Path(__file__).parents[1]
OTHERS = (
    "test_allocator_defects.yaml",
    "test_claim_defects.py",
    "test_counter_defects.py",
    "test_placement_defects.py",
)
"""The files with plays of defects that need no schedule."""


class Play:
    """The stage with its three actors."""

    def __init__(self, stage: stages.Stage, chosen: tuple[str, ...]) -> None:
        self.stage = stage
        self.server = local_servers.LocalServer()
        self.world = plugin_world.World(self.server, assembling.parts(chosen), devices=["a"])
        for name in ("c", "d", "unrelated"):
            self.world.claim(name)
        self._attempt = self.world.reserved(self.world.pod("p", "c"))
        self._late_pod = self.world.pod("q", "d")

    def start_binder(self) -> None:
        self.stage.start("binder", lambda: self.world.plugin.pre_bind(self._attempt))

    def start_informer(self, claim: str = "c") -> None:
        self.stage.start("informer", lambda: self.world.see(claim))

    def start_scheduler(self) -> None:
        """Schedule pod q, which must not get a device: there is none left."""
        self.stage.start("scheduler", lambda: self.world.schedule(self._late_pod))

    def change_unrelated_claim(self) -> None:
        """The server has something to tell of a claim that is not used here."""
        stored = self.world.stored("unrelated")
        labelled = claims.with_metadata(stored, labels={"changed": "yes"})
        self.world.api.update(apis.CLAIMS, labelled)

    def holders(self) -> list[str]:
        """The claims that the device is allocated to, by what the server has stored."""
        holders = collections.defaultdict(list)
        for name in ("c", "d"):
            for device in claims.exclusive_devices(claims.allocation_of(self.world.stored(name))):
                holders[device].append(name)
        return holders[DEVICE]


# -------------------------------------------------------------------------- the schedules


def the_watch_is_quicker_than_the_answer(play: Play) -> None:
    """Root cause A: the informer has the event of the binder's own write, but has not run it
    yet.
    """
    play.stage.hold("binder", "pre-bind.written")
    play.stage.hold("informer", POPPED)
    play.start_binder()
    play.start_informer()
    play.stage.release("binder")
    play.start_scheduler()
    play.stage.release("informer")


def another_claim_s_event_is_being_delivered(play: Play) -> None:
    """Root cause A, again: the informer, at work on something else, takes the binder's event off
    the queue as well.
    """
    play.change_unrelated_claim()
    play.stage.hold("informer", POPPED, time=1)
    play.stage.hold("binder", "assume-cache.locking", time=2)  # it has queued its event
    play.stage.hold("informer", POPPED, time=2)
    play.start_informer("unrelated")
    play.start_binder()
    play.stage.release("informer")
    play.stage.release("binder")
    play.start_scheduler()
    play.stage.release("informer")


def the_binding_ends_during_a_gather(play: Play) -> None:
    """Root cause B: the claim moves while the gather is between its two reads."""
    play.stage.hold("scheduler", "gather.devices.cloned")
    play.start_scheduler()
    play.start_binder()
    play.stage.release("scheduler")


def the_informer_tells_during_a_gather(play: Play) -> None:
    """Root cause B, with the informer as the one that inserts the device."""
    play.stage.hold("binder", "pre-bind.written")
    play.stage.hold("scheduler", "gather.devices.cloned")
    play.start_binder()
    play.start_scheduler()
    play.start_informer()
    play.stage.release("binder")
    play.stage.release("scheduler")


def a_decision_right_after_the_flight(play: Play) -> None:
    """The claim has just left the in-flight claims: by then it must be known as allocated."""
    play.stage.hold("binder", "in-flight.removed")
    play.start_binder()
    play.start_scheduler()
    play.stage.release("binder")


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A schedule, whom it exposes, and how one sees that the correct code was put to the test."""

    perform: Callable[[Play], None]
    exposes: frozenset[str]
    proof: tuple[str, str]
    """(actor, step) that the correct code comes to."""


CACHES = frozenset({"assume-cache-early-return", "assume-cache-shared-drain"})
GATHERS = frozenset({"gather-not-atomic", "revision-bumped-late", "revision-compared-early"})
ORDER = frozenset({"in-flight-removed-first"})
SCHEDULES = [
    Schedule(
        the_watch_is_quicker_than_the_answer, CACHES | ORDER, ("binder", "assume-cache.waiting")
    ),
    Schedule(
        another_claim_s_event_is_being_delivered, CACHES | ORDER, ("binder", "assume-cache.waiting")
    ),
    Schedule(the_binding_ends_during_a_gather, GATHERS, ("scheduler", "gather.conflict")),
    Schedule(the_informer_tells_during_a_gather, GATHERS, ("scheduler", "gather.conflict")),
    Schedule(a_decision_right_after_the_flight, ORDER, ("binder", POPPED)),
]


def perform(schedule: Schedule, stage: stages.Stage, *chosen: str) -> Play:
    play = Play(stage, chosen)
    schedule.perform(play)
    stage.finish()
    return play


schedules = pytest.mark.parametrize(
    "schedule", SCHEDULES, ids=[item.perform.__name__ for item in SCHEDULES]
)


@schedules
@pytest.mark.parametrize("defect", sorted(CACHES | GATHERS | ORDER))
def test_a_defect_gives_the_device_twice_under_its_schedules_and_no_other(
    stage: stages.Stage, schedule: Schedule, defect: str
) -> None:
    holders = perform(schedule, stage, defect).holders()
    assert holders == (["c", "d"] if defect in schedule.exposes else ["c"])


@schedules
def test_the_correct_code_gives_it_once(stage: stages.Stage, schedule: Schedule) -> None:
    play = perform(schedule, stage)
    assert play.holders() == ["c"]
    assert stage.arrivals[schedule.proof] >= 1
    assert play.world.gatherer.gather().devices == {DEVICE}
    assert play.world.flight.listed() == []


def test_every_defect_has_a_schedule_a_play_or_a_world() -> None:
    files = [
        path for path in FOLDER.rglob("*") if path.name in OTHERS or path.match("*schedules*.py")
    ]
    told = {word for path in files for word in re.findall(r"[\w-]+", path.read_text())}
    for name, facts in known_defects.facts().items():
        is_of_kubelet = known_defects.named(name).process == "kubelet"
        assert facts.worlds or name in told or is_of_kubelet, name
