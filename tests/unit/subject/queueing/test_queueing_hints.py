"""Which events make a pod worth another attempt, case by case."""

from typing import Any

import pytest

from harness.subject.queueing import cluster_events, queueing_hints
from tests.support import api_objects

Object = dict[str, Any]
POD = api_objects.known_pod("p", use=["c"])
FREE = api_objects.claim("c", version=1)
OTHER = api_objects.claim("other", version=1)
TAKEN = {"allocation": api_objects.allocation("a")}
DRA, AFFINITY = {"DynamicResources"}, {"NodeAffinity"}
TOLERATION, UNSCHEDULABLE = {"TaintToleration"}, {"NodeUnschedulable"}
TAINT = {"key": "k", "effect": "NoSchedule"}


def answer(
    event: cluster_events.ClusterEvent,
    rejectors: set[str] = DRA,
    pod: Object = POD,
    known: tuple[Object, ...] = (FREE, OTHER),
) -> queueing_hints.Hint:
    claims = {f"default/{claim['metadata']['name']}": claim for claim in known}
    return queueing_hints.QueueingHints(claims.get).of(pod, rejectors, event)


def of_claim(old: Object | None, new: Object | None) -> cluster_events.ClusterEvent:
    return cluster_events.ClusterEvent(cluster_events.CLAIM, "any", old, new)


def of_node(action: str, old: Object | None, new: Object) -> cluster_events.ClusterEvent:
    return cluster_events.ClusterEvent(cluster_events.NODE, action, old, new)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, FREE, queueing_hints.CLAIM_CREATED),
        (None, OTHER, queueing_hints.CLAIM_UNRELATED),
        (FREE, {**FREE, "status": TAKEN}, queueing_hints.CLAIM_UPDATED),
        (OTHER, {**OTHER, "status": TAKEN}, queueing_hints.CLAIM_UNRELATED),
        (FREE, {**FREE, "metadata": {**FREE["metadata"], "finalizers": ["f"]}}, queueing_hints.CLAIM_METADATA),
        (FREE, {**FREE, "status": {}}, queueing_hints.CLAIM_METADATA),
        ({**FREE, "status": TAKEN}, FREE, queueing_hints.CLAIM_DEALLOCATED),
        ({**OTHER, "status": TAKEN}, OTHER, queueing_hints.CLAIM_DEALLOCATED),
        ({**OTHER, "status": TAKEN}, None, queueing_hints.CLAIM_DEALLOCATED),
        (OTHER, None, queueing_hints.CLAIM_UNRELATED),
    ],
)  # fmt: skip
def test_the_change_of_a_claim(
    old: Object | None, new: Object | None, expected: queueing_hints.Hint
) -> None:
    assert answer(of_claim(old, new)) is expected


def test_no_claim_helps_a_pod_that_lacks_one_of_its_own() -> None:
    freed = of_claim({**OTHER, "status": TAKEN}, OTHER)
    assert answer(freed, known=(OTHER,)) is queueing_hints.CLAIMS_UNUSABLE


def test_a_pod_whose_claims_were_recorded() -> None:
    pods = [
        api_objects.known_pod("p", templates=["t"], recorded=recorded)
        for recorded in ({}, {"t": "of-p"})
    ]
    owned = api_objects.claim("of-p", version=1, owner=pods[0])
    (event,) = cluster_events.of_pod(*pods)
    assert event.label == "PodUpdatePodGeneratedResourceClaim"
    assert answer(event, pod=pods[1], known=(owned,)) is queueing_hints.POD_UPDATED
    assert answer(event, pod=pods[1], known=()) is queueing_hints.POD_UNUSABLE
    assert answer(event, pod=api_objects.known_pod("q")) is queueing_hints.SKIP


NODE = api_objects.node()
LABELLED = api_objects.node(labels={"zone": "a"})
CHOOSY = {**POD, "spec": {**POD["spec"], "nodeSelector": {"zone": "a"}}}
TOLERANT = {**POD, "spec": {**POD["spec"], "tolerations": [{"operator": "Exists"}]}}


@pytest.mark.parametrize(
    ("rejectors", "pod", "old", "new", "helps"),
    [
        (DRA, POD, None, NODE, True),
        (DRA, POD, NODE, LABELLED, True),
        (DRA, POD, NODE, api_objects.node(taints=[TAINT]), False),
        (AFFINITY, CHOOSY, None, NODE, False),
        (AFFINITY, CHOOSY, None, LABELLED, True),
        (AFFINITY, CHOOSY, NODE, LABELLED, True),
        (AFFINITY, CHOOSY, LABELLED, NODE, False),
        (AFFINITY | DRA, CHOOSY, None, NODE, True),
        (TOLERATION, POD, api_objects.node(taints=[TAINT]), NODE, True),
        (TOLERATION, POD, None, api_objects.node(taints=[TAINT]), False),
        (TOLERATION, TOLERANT, None, api_objects.node(taints=[TAINT]), True),
        (UNSCHEDULABLE, POD, api_objects.node(unschedulable=True), NODE, True),
        (UNSCHEDULABLE, POD, NODE, api_objects.node(unschedulable=True), False),
    ],
)
def test_a_node_helps_those_that_it_did_not_accept_before(
    rejectors: set[str], pod: Object, old: Object | None, new: Object, helps: bool
) -> None:
    added = of_node(cluster_events.ADD, None, new)
    events = [added] if old is None else list(cluster_events.of_node(old, new))
    assert len(events) == 1
    assert answer(events[0], rejectors, pod).is_worth_trying is helps


def test_a_heartbeat_of_a_node_is_no_event() -> None:
    beat = {**NODE, "status": {"conditions": [{"type": "Ready"}]}}
    assert list(cluster_events.of_node(NODE, beat)) == []


def test_new_tolerations_help_their_own_pod() -> None:
    (event,) = cluster_events.of_pod(POD, TOLERANT)
    assert answer(event, TOLERATION, TOLERANT).is_worth_trying
    assert not answer(event, TOLERATION, api_objects.known_pod("q")).is_worth_trying


@pytest.mark.parametrize("kind", [cluster_events.SLICE, cluster_events.DEVICE_CLASS])
def test_devices_help_those_that_lacked_some(kind: str) -> None:
    event = cluster_events.ClusterEvent(kind, cluster_events.ADD, None, {})
    assert answer(event).is_worth_trying
    assert not answer(event, AFFINITY).is_worth_trying


def test_without_rejectors_everything_helps() -> None:
    assert answer(of_claim(None, OTHER), set()).is_worth_trying
