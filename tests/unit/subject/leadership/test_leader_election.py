"""Leader election: one candidate holds the lease, another one takes it when it is not renewed."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from harness import concurrency
from harness.client import apis
from harness.subject.leadership import leader_election
from harness.subject.scheduling import schedulers
from tests.support import controlled_runtimes, local_servers, scheduler_worlds

TIMEOUT_S = 30
SPACE, NAME = "default", "flake-hunt"
TIMES = leader_election.LeaseTimes()
QUICK = leader_election.LeaseTimes(lease_duration_s=1, renew_deadline_s=0.6, retry_period_s=0.05)


def lock(server: local_servers.LocalServer, identity: str) -> Any:
    return leader_election._LeaseLock(
        apis.Api(server), TIMES, namespace=SPACE, name=NAME, identity=identity
    )


def lease(server: local_servers.LocalServer) -> dict[str, Any]:
    found: dict[str, Any] = apis.Api(server).get(apis.LEASES, NAME, namespace=SPACE)["spec"]
    return found


def test_the_first_candidate_creates_the_lease_and_the_second_waits(
    server: local_servers.LocalServer, time: controlled_runtimes.VirtualTime
) -> None:
    one, other = lock(server, "one"), lock(server, "other")
    assert one.try_to_hold()
    assert not other.try_to_hold()
    spec = lease(server)
    assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == ("one", 15)
    assert spec["leaseTransitions"] == 0
    assert spec["acquireTime"] == spec["renewTime"]


def test_a_lease_that_is_not_renewed_is_taken_and_lost(
    server: local_servers.LocalServer, time: controlled_runtimes.VirtualTime
) -> None:
    one, other = lock(server, "one"), lock(server, "other")
    one.try_to_hold()
    other.try_to_hold()
    time.sleep(14.9)
    assert not other.try_to_hold()
    time.sleep(0.2)
    assert other.try_to_hold()
    assert not one.try_to_hold()
    assert (lease(server)["holderIdentity"], lease(server)["leaseTransitions"]) == ("other", 1)


def test_a_candidate_counts_from_the_last_change_that_it_saw(
    server: local_servers.LocalServer, time: controlled_runtimes.VirtualTime
) -> None:
    one, other = lock(server, "one"), lock(server, "other")
    one.try_to_hold()
    acquired = lease(server)["acquireTime"]
    for _ in range(5):
        time.sleep(10)
        assert one.try_to_hold()
        assert not other.try_to_hold()
    assert lease(server)["acquireTime"] == acquired
    assert lease(server)["leaseTransitions"] == 0


def test_a_released_lease_is_taken_at_once(
    server: local_servers.LocalServer, time: controlled_runtimes.VirtualTime
) -> None:
    one, other = lock(server, "one"), lock(server, "other")
    one.try_to_hold()
    one.release()
    assert lease(server).get("holderIdentity") is None
    assert one.held_until_s == 0
    assert other.try_to_hold()
    one.release()  # not its own any more
    assert lease(server)["holderIdentity"] == "other"


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_of_two_that_take_a_free_or_an_expired_lease_one_holds_it(
    server: local_servers.LocalServer, time: controlled_runtimes.VirtualTime, method: str
) -> None:
    one, other = lock(server, "one"), lock(server, "other")
    if method == "PUT":
        for candidate in (lock(server, "gone"), one, other):
            candidate.try_to_hold()
        time.sleep(20)
    server.before(method, "leases", other.try_to_hold)
    assert not one.try_to_hold()
    assert lease(server)["holderIdentity"] == "other"


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_a_lost_answer_does_not_lose_the_lease(
    server: local_servers.LocalServer, time: controlled_runtimes.VirtualTime, method: str
) -> None:
    one = lock(server, "one")
    if method == "PUT":
        one.try_to_hold()
    server.lose_answer(method, "leases")
    assert not one.try_to_hold()
    assert one.try_to_hold()
    assert lease(server)["holderIdentity"] == "one"


def test_the_holder_knows_until_when_no_other_can_hold_the_lease(
    server: local_servers.LocalServer, time: controlled_runtimes.VirtualTime
) -> None:
    one = lock(server, "one")
    time.sleep(5)
    server.before("POST", "leases", lambda: time.sleep(3))
    one.try_to_hold()
    assert one.held_until_s == 5 + 15, "from the time at which the call began"
    time.sleep(10)
    server.refuse("PUT", "leases", status=503, times=9)
    assert not one.try_to_hold()
    assert one.held_until_s == 20


# ------------------------------------------------------------------------ with threads


class Candidate:
    """An elector that notes that it has lost its lease."""

    def __init__(self, server: local_servers.LocalServer, identity: str) -> None:
        self.lost = concurrency.Event("lost")
        self.elector = leader_election.LeaderElector(
            apis.Api(server),
            QUICK,
            namespace=SPACE,
            name=NAME,
            identity=identity,
            jitter=random.Random(1),
            on_lost=self.lost.set,
        )


@pytest.fixture
def candidates(server: local_servers.LocalServer) -> Iterator[list[Candidate]]:
    """A leader and a candidate that stands by."""
    made = [Candidate(server, identity) for identity in ("one", "other")]
    for candidate in made:
        candidate.elector.start()
        candidate.elector.wait_leading(0.2)
    yield made
    for candidate in made:
        candidate.elector.stop()


def test_the_second_leads_when_the_first_stops(
    candidates: list[Candidate], server: local_servers.LocalServer
) -> None:
    one, other = candidates
    assert one.elector.still_leads()
    assert not other.elector.still_leads()
    one.elector.stop()
    assert not one.elector.still_leads()
    assert other.elector.wait_leading(TIMEOUT_S)
    assert not one.lost.is_set()
    assert lease(server)["holderIdentity"] == "other"


def test_a_leader_that_cannot_renew_its_lease_loses_it(
    candidates: list[Candidate], server: local_servers.LocalServer
) -> None:
    server.refuse("PUT", "leases", status=503, times=1_000_000)
    one, other = candidates
    assert one.lost.wait(TIMEOUT_S)
    assert not other.lost.is_set()
    assert not other.elector.wait_leading(0)


def test_a_scheduler_that_stands_by_schedules_what_its_leader_left(
    server: local_servers.LocalServer, candidates: list[Candidate]
) -> None:
    world = scheduler_worlds.World(server)
    leader = world.scheduler
    standby = schedulers.Scheduler(world.api, schedulers.SchedulerOptions(binders=2))
    for scheduler in (leader, standby):
        scheduler.stand_by()
    one, other = candidates
    leader.lead(one.elector.still_leads)
    world.add_pod("first")
    world.wait_bound("first")
    leader.stop()
    world.add_pod("second")
    one.elector.stop()
    assert other.elector.wait_leading(TIMEOUT_S)
    assert world.node_of("second") is None
    standby.lead(other.elector.still_leads)
    world.wait_bound("second")
    standby.stop()
