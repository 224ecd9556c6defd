"""Where pods wait, in virtual time: nothing here sleeps, and a wait without end is an answer."""

import itertools
from typing import Any

import pytest

from harness import concurrency
from harness.subject.queueing import cluster_events, queue_parts, queueing_hints, scheduling_queue
from tests.support import api_objects, controlled_runtimes

Object = dict[str, Any]
TIMEOUT_S = 20.0
NODE_ADDED = cluster_events.ClusterEvent(
    cluster_events.NODE, cluster_events.ADD, None, api_objects.node()
)


def of_claim(name: str) -> cluster_events.ClusterEvent:
    claim = api_objects.claim(name, version=1)
    return cluster_events.ClusterEvent(cluster_events.CLAIM, cluster_events.ADD, None, claim)


class World:
    """A queue, and whether its gate is open."""

    def __init__(self) -> None:
        self.closed_for: set[str] = set()
        self.claims: dict[str, Object] = {}
        self.queue = scheduling_queue.SchedulingQueue(
            gate=lambda pod: pod["metadata"]["name"] not in self.closed_for,
            hints=queueing_hints.QueueingHints(self.claims.get),
            backoff_initial_s=1.0,
            backoff_max_s=10.0,
        )

    def pop(self) -> str:
        return str(self.take().pod["metadata"]["name"])

    def take(self) -> queue_parts.QueuedPod:
        return self.queue.pop()

    def tell(self, news: cluster_events.ClusterEvent | Object | None) -> None:
        """An event, or a pod's new state; None: nothing."""
        if isinstance(news, cluster_events.ClusterEvent):
            self.queue.move(news)
        elif news is not None:
            self.queue.put(news)

    def is_idle(self) -> bool:
        return controlled_runtimes.waits_forever(self.queue.pop)


@pytest.fixture
def world(time: controlled_runtimes.VirtualTime) -> World:
    return World()


def pod(name: str, *, use: tuple[str, ...] = ("c",)) -> Object:
    return api_objects.known_pod(name, use=use)


def with_claim(name: str) -> Object:
    """The pod `a`, whose status names this claim."""
    return api_objects.known_pod("a", templates=["t"], recorded={"t": name})


def test_a_gated_pod_waits_for_its_claim(world: World) -> None:
    world.closed_for = {"a", "b"}
    world.queue.put(pod("a", use=("c1",)))
    world.queue.put(pod("b", use=("c2",)))
    assert world.is_idle()
    world.queue.move(of_claim("c1"))
    assert world.is_idle()
    world.closed_for = set()
    world.queue.move(of_claim("c1"))
    assert world.pop() == "a"
    assert world.is_idle()
    world.queue.put(pod("b", use=("c2",)))
    assert world.pop() == "b"


def test_moving_all_does_not_open_gates(world: World) -> None:
    world.closed_for = {"a"}
    world.queue.put(pod("a"))
    world.queue.move(NODE_ADDED)
    assert world.is_idle()


def test_a_failed_attempt_comes_again_after_a_backoff_that_doubles_up_to_its_limit(
    world: World, time: controlled_runtimes.VirtualTime
) -> None:
    world.queue.put(pod("a"))
    waited = []
    for _ in range(1100):  # from 1025 on, a power of two is too large for a float
        queued = world.take()
        failed_s = time.now_s
        world.queue.failed(queued, unschedulable=False)
        waited.append((failed_s, queued.attempts))
    lengths = [later[0] - earlier[0] for earlier, later in itertools.pairwise(waited)]
    assert lengths == pytest.approx([1, 2, 4, 8, *[10] * 1095])
    assert [attempts for _, attempts in waited] == [*range(1, 1101)]


POD = pod("a")
NEW_STATUS = {**POD, "status": {"conditions": [{"type": "PodScheduled"}]}}


@pytest.mark.parametrize(
    ("pods", "during", "slept_s", "after", "again_s"),
    [
        ([POD], None, 0.25, NODE_ADDED, 1.0),
        ([POD], None, 5.0, of_claim("c"), 5.0),
        ([POD], None, 0.0, of_claim("other"), scheduling_queue.FLUSH_S),
        ([POD], None, 0.0, NEW_STATUS, scheduling_queue.FLUSH_S),
        ([POD], NODE_ADDED, 0.0, None, 1.0),
        ([POD], of_claim("c"), 0.0, None, 1.0),
        ([with_claim("c1")], with_claim("c2"), 0.0, None, 1.0),
        ([with_claim("c1"), with_claim("c2")], None, 0.0, of_claim("c1"), scheduling_queue.FLUSH_S),
    ],
)
def test_when_an_unschedulable_pod_is_tried_again(
    world: World,
    time: controlled_runtimes.VirtualTime,
    pods: list[Object],
    during: cluster_events.ClusterEvent | Object | None,
    slept_s: float,
    after: cluster_events.ClusterEvent | Object | None,
    again_s: float,
) -> None:
    """With what the queue is told during the attempt and after it; a backoff is a second."""
    for state in pods:
        world.queue.put(state)
    queued = world.take()
    world.tell(during)
    world.queue.failed(queued, unschedulable=True)
    time.sleep(slept_s)
    world.tell(after)
    again = world.take()
    assert time.now_s == pytest.approx(again_s)
    world.queue.failed(again, unschedulable=True)  # what was told was before this attempt
    assert world.pop() == "a"
    assert time.now_s >= again_s + scheduling_queue.FLUSH_S


def test_the_claim_of_a_template_makes_a_user_once_it_is_recorded(
    world: World, time: controlled_runtimes.VirtualTime
) -> None:
    world.closed_for = {"a"}
    world.queue.put(api_objects.known_pod("a", templates=["t"]))
    world.queue.put(with_claim("a-t-x"))
    world.closed_for = set()
    world.queue.move(of_claim("a-t-x"))
    assert world.pop() == "a"


def test_a_lost_event_does_not_lose_a_pod(
    world: World, time: controlled_runtimes.VirtualTime
) -> None:
    world.queue.put(pod("a"))
    for attempts in range(1, 5):
        queued = world.take()
        assert queued.attempts == attempts
        world.queue.failed(queued, unschedulable=True)
    assert world.pop() == "a"
    assert time.now_s == pytest.approx(4 * scheduling_queue.FLUSH_S)


def test_the_flush_does_not_depend_on_how_seconds_are_rounded(
    world: World, time: controlled_runtimes.VirtualTime
) -> None:
    time.now_ns = 2_004_006_012  # (t + 30.0) - t is less than 30.0 here
    world.queue.put(pod("a"))
    world.queue.failed(world.take(), unschedulable=True)
    assert world.pop() == "a"


def test_the_flush_counts_from_the_newest_failure(
    world: World, time: controlled_runtimes.VirtualTime
) -> None:
    world.queue.put(pod("a"))
    world.queue.failed(world.take(), unschedulable=True)
    time.sleep(20)
    world.queue.move(NODE_ADDED)
    world.queue.failed(world.take(), unschedulable=True)  # the first timer still stands at 30 s
    assert world.pop() == "a"
    assert time.now_s == pytest.approx(20 + scheduling_queue.FLUSH_S)


def assert_forgotten(world: World) -> None:
    """No pod is left anywhere but in timers that will run out: a queue lives as long as its
    scheduler.
    """
    queue = world.queue
    assert (queue._pods, dict(queue._users), queue._unschedulable) == ({}, {}, {})


@pytest.mark.parametrize("unschedulable", [None, False, True])
def test_a_removed_pod_is_never_taken(world: World, unschedulable: bool | None) -> None:
    world.queue.put(pod("a"))
    if unschedulable is not None:
        world.queue.failed(world.take(), unschedulable=unschedulable)
    world.queue.remove(pod("a"))
    assert len(world.queue) == 0
    assert_forgotten(world)
    world.queue.move(NODE_ADDED)
    world.queue.move(of_claim("c"))
    assert world.is_idle()


@pytest.mark.parametrize("unschedulable", [True, False])
def test_a_pod_that_was_removed_in_flight_does_not_come_back(
    world: World, unschedulable: bool
) -> None:
    world.queue.put(pod("a"))
    queued = world.take()
    world.queue.remove(pod("a"))
    world.queue.failed(queued, unschedulable=unschedulable)
    assert_forgotten(world)
    world.queue.move(NODE_ADDED)
    assert world.is_idle()


def test_a_pod_that_came_back_is_a_pod_of_its_own(
    world: World, time: controlled_runtimes.VirtualTime
) -> None:
    world.queue.put(pod("a"))
    first = world.take()
    world.queue.remove(pod("a"))
    world.queue.put(pod("a"))
    second = world.take()
    world.queue.failed(first, unschedulable=True)
    assert (second.attempts, second.place) == (1, queue_parts.Place.IN_FLIGHT)
    assert world.is_idle()


def test_close_ends_every_pop() -> None:
    world = World()  # in real time
    ended = []

    def pop() -> None:
        try:
            world.queue.pop()
        except concurrency.Closed:
            ended.append(True)

    threads = [concurrency.spawn(f"pop-{index}", pop) for index in range(3)]
    world.queue.close()
    for thread in threads:
        thread.join(TIMEOUT_S)
    assert ended == [True] * 3


def test_a_pod_whose_status_names_a_new_claim_is_retried(
    world: World, time: controlled_runtimes.VirtualTime
) -> None:
    """Its claim was deleted, and the claim controller has created another one."""
    world.queue.put(with_claim("c1"))
    world.queue.failed(world.take(), unschedulable=True)
    world.closed_for = {"a"}
    world.queue.put(api_objects.known_pod("a", templates=["t"], recorded={}))
    world.closed_for = set()
    time.sleep(5)
    world.queue.put(with_claim("c2"))
    assert world.pop() == "a"
    assert time.now_s == pytest.approx(5.0)


def test_what_a_failed_binding_gives_back_does_not_move_its_own_pod(
    world: World, time: controlled_runtimes.VirtualTime
) -> None:
    """The pod waits for a claim that is in use, which its own devices cannot help."""
    world.queue.put(pod("a", use=("c1",)))
    world.queue.failed(world.take(), unschedulable=True, freed=True)
    world.queue.move(of_claim("c1"))
    assert world.pop() == "a"
    assert time.now_s == pytest.approx(1.0)


def test_what_a_failed_binding_gives_back_moves_the_others(
    world: World, time: controlled_runtimes.VirtualTime
) -> None:
    world.queue.put(pod("a", use=("c1",)))
    world.queue.put(pod("b", use=("c2",)))
    binding, waiting = world.take(), world.take()
    world.queue.failed(waiting, unschedulable=True)
    time.sleep(2)
    world.queue.failed(binding, unschedulable=False, freed=True)
    assert world.pop() == "b"
    assert time.now_s == pytest.approx(2.0)
    assert world.pop() == "a"
