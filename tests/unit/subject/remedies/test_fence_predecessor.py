"""A remedy for H3 and H18: what a predecessor left under way is fenced before the first pod."""

from typing import Any

import pytest

from harness import errors
from harness.client import apis, transports
from harness.subject.objects import claim_writes, claims
from harness.subject.remedies import fence_predecessor
from harness.subject.tracking import assume_caches
from tests.support import api_objects, controlled_runtimes, local_servers

Object = dict[str, Any]
Steps = list[tuple[str, dict[str, object]]]
FINALIZERS = [claims.FINALIZER]


class Successor:
    """A scheduler's cache and leadership, as far as its first list."""

    def __init__(self, server: local_servers.LocalServer) -> None:
        self.server, self.api = server, apis.Api(server)
        self.cache = assume_caches.AssumeCache()
        self.leadership = fence_predecessor.FencingLeadership(self.api, self.cache)

    def claim(self, name: str, **more: Any) -> Object:
        stored = local_servers.put(self.server, apis.CLAIMS, api_objects.claim(name, **more))
        self.cache.on_add(stored, initial=True)
        return stored

    def pod(self, name: str, **more: Any) -> Object:
        return local_servers.put(self.server, apis.PODS, api_objects.pod(name, **more))

    def reserved(self, name: str, pod: Object) -> Object:
        claim = self.claim(name, finalizers=FINALIZERS)
        allocated = allocating(claims.with_reservation(claim, pod))
        written = self.api.update_status(apis.CLAIMS, allocated)
        self.cache.on_update(claim, written)
        return written

    def stored(self, name: str) -> Object:
        return self.api.get(apis.CLAIMS, name, namespace="default")


@pytest.fixture
def successor(
    server: local_servers.LocalServer, time: controlled_runtimes.VirtualTime
) -> Successor:
    del time
    return Successor(server)


def allocating(claim: Object) -> Object:
    return claims.with_status(claim, allocation=api_objects.allocation("a"))


def test_a_removal_is_based_on_what_is_there(successor: Successor, steps: Steps) -> None:
    pod, other = successor.pod("p"), successor.pod("other")
    claim = successor.reserved("c", pod)
    successor.server.before(
        "PATCH",
        "resourceclaims/c",
        lambda: successor.api.update_status(
            apis.CLAIMS, claims.with_reservation(successor.stored("c"), other)
        ),
    )
    freed = claim_writes.remove_reservation(successor.leadership.writing_api, claim, pod)
    assert freed == successor.stored("c")
    assert claims.reservations_of(freed) == [claims.reservation_of(other)]
    assert [name for name, _ in steps].count("remedy.read") == 2


def test_a_removal_that_always_conflicts_is_given_up(successor: Successor, steps: Steps) -> None:
    pod = successor.pod("p")
    claim = successor.reserved("c", pod)
    successor.server.refuse("PATCH", "resourceclaims/c", status=409, times=100)
    assert claim_writes.remove_reservation(successor.leadership.writing_api, claim, pod) is None
    assert successor.server.count("PATCH") == fence_predecessor.TRIES
    assert "unreserve.failed" in [name for name, _ in steps]


@pytest.mark.parametrize("status", [409, 429, 500, 503])
def test_failures_are_tried_again(successor: Successor, steps: Steps, status: int) -> None:
    late = allocating(successor.claim("c", finalizers=FINALIZERS))
    successor.server.refuse("PUT", "resourceclaims/c", status=status, times=3)
    successor.leadership.on_started_leading()
    assert [name for name, _ in steps].count("remedy.postponed") == 3
    with pytest.raises(apis.ApiError):
        successor.api.update_status(apis.CLAIMS, late)


@pytest.mark.parametrize("path", ["resourceclaims", "resourceclaims/c"])
def test_a_server_that_stays_away_is_an_error(successor: Successor, path: str) -> None:
    successor.claim("c", finalizers=FINALIZERS)
    successor.server.refuse("GET", path, status=503, times=10**6)
    with pytest.raises(errors.ClusterError, match="expected to fence the claims of a previous"):
        successor.leadership.on_started_leading()


def test_a_scheduler_whose_lease_is_over_writes_nothing_and_may_write_when_it_leads_again(
    successor: Successor,
) -> None:
    """As one that was paused and does not know yet that another one leads."""
    claim, holds = successor.claim("c"), [False]
    successor.leadership.use_lease(lambda: holds[0])
    assert not successor.leadership.still_leads()
    with pytest.raises(transports.TransportError, match="lost its lease"):
        successor.leadership.writing_api.update_status(apis.CLAIMS, allocating(claim))
    assert successor.stored("c") == claim
    holds[0] = True
    successor.leadership.writing_api.update_status(apis.CLAIMS, allocating(claim))
    assert successor.stored("c") != claim
