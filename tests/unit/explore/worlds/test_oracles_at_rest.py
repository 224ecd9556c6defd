"""Oracles of worlds at rest: which pods could run, and what is left behind."""

import dataclasses
from typing import Any

import pytest

from harness.explore.worlds import world_fixtures
from harness.explore.worlds.oracles import rest_judges, states

Object = dict[str, Any]


def identified(document: Object, uid: str) -> Object:
    return {**document, "metadata": {**document["metadata"], "uid": uid}}


def stored(document: Object) -> Object:
    meta = {"namespace": "default", "uid": document["metadata"]["name"], "resourceVersion": "1"}
    return {**document, "metadata": {**meta, **document["metadata"]}}


def state(*claims: Object, **changes: Any) -> states.State:
    """A pod with one of the claims, a node and its only device."""
    at_rest = states.State(
        pods=[stored(identified(world_fixtures.pod("pod-1", "claim-1"), "pod-uid"))],
        claims=[*map(stored, claims)],
        slices=[stored(world_fixtures.pool(world_fixtures.devices(1)))],
        nodes=[world_fixtures.node()],
    )
    return dataclasses.replace(at_rest, **changes)


FREE = world_fixtures.claim("claim-1")
HOLDER = {**world_fixtures.claim("other"), "status": world_fixtures.allocated("device-0")}
DELETED = stored(identified(world_fixtures.pod("pod-1", "claim-1"), "pod-uid"))
DELETED["metadata"]["deletionTimestamp"] = world_fixtures.NOW
EXTENDED = stored(identified(world_fixtures.pod("pod-1"), "pod-uid"))
EXTENDED["spec"]["containers"][0]["resources"]["requests"] = {world_fixtures.RESOURCE: "1"}


@pytest.mark.parametrize(
    ("found", "is_stuck"),
    [
        (state(FREE), True),
        (state(pods=[EXTENDED]), True),
        (state(FREE, HOLDER), False),
        (state(HOLDER), False),
        (state(FREE, tainted=frozenset({world_fixtures.DRIVER})), False),
        (state(FREE, schedulers=("another",)), False),
        (state(FREE, nodes=[world_fixtures.node("worker-1")]), False),
        (state(FREE, pods=[DELETED]), False),
    ],
)
def test_a_pod_that_could_run_is_stuck(found: states.State, *, is_stuck: bool) -> None:
    """How devices are searched is shown in tests/model_based/allocation/test_progress_search.py."""
    assert rest_judges.stuck(found) == ("stuck: pod-1 could run" if is_stuck else None)


def reserved(uid: str, **metadata: Any) -> Object:
    user = {"resource": "pods", "name": "pod-1", "uid": uid}
    found = world_fixtures.claim("claim-1")
    status = world_fixtures.allocated("device-0", [user])
    return {**found, "metadata": {**found["metadata"], **metadata}, "status": status}


def test_a_reservation_of_a_pod_that_is_gone_is_left() -> None:
    finding = rest_judges.left_by_controller(state(reserved("gone")))
    assert finding == "leaked: claim-1 is reserved for pod-1, which has ended"
    assert rest_judges.left_by_controller(state(reserved("pod-uid"))) is None


@pytest.mark.parametrize(
    ("named", "changes", "is_left"),
    [
        ("claim-1", {}, True),
        ("another", {}, False),
        ("another", {"status": world_fixtures.allocated("device-0")}, True),
    ],
)
def test_a_claim_for_extended_resources_is_left_by_a_pod_that_has_ended(
    named: str, changes: Object, is_left: bool
) -> None:
    made = {**world_fixtures.claim("claim-1"), **changes}
    made["metadata"]["ownerReferences"] = [{"name": "pod-1", "uid": "pod-uid"}]
    made["metadata"]["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    found = state(made)
    [pod] = found.pods
    pod["status"] = {
        "phase": "Succeeded",
        "extendedResourceClaimStatus": {"resourceClaimName": named},
    }
    finding = rest_judges.left_by_controller(found)
    expected = "leaked: claim-1 is there, but its pod pod-1 has ended"
    assert finding == (expected if is_left else None)


def test_an_entry_without_a_claim_is_left_out() -> None:
    pod = identified(world_fixtures.pod_of_template("pod-1"), "pod-uid")
    found = states.State(pods=[pod], claims=[], slices=[], nodes=[])
    assert rest_judges.without_claims(found) == "entry: device of pod-1 has no claim that is there"


@pytest.mark.parametrize(("entry", "finding"), [("device", None), ("other", "entry: device of")])
def test_an_entry_has_the_claim_that_was_made_for_it(entry: str, finding: str | None) -> None:
    pod = identified(world_fixtures.pod_of_template("pod-1"), "pod-uid")
    pod["status"] = {"resourceClaimStatuses": [{"name": "device", "resourceClaimName": "made"}]}
    made = world_fixtures.claim("made")
    made["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": entry}
    found = states.State(pods=[pod], claims=[made], slices=[], nodes=[])
    assert (rest_judges.without_claims(found) or "").startswith(finding or "")
    assert (rest_judges.without_claims(found) is None) == (finding is None)


def test_a_bound_pod_without_its_extended_claim_is_told() -> None:
    pod = world_fixtures.pod("pod-1")
    pod["spec"]["nodeName"] = world_fixtures.NODE
    found = states.State(pods=[pod], claims=[], slices=[], nodes=[])
    assert rest_judges.without_devices(found) == "extended: pod-1 runs without its devices"
