"""Writes whose answers have no revision: bindings, last finalizers, collections, evictions."""

import copy
import json
from typing import Any

import msgspec
import pytest

from harness.checks.holds import hold_history
from harness.checks.witness import audit_events, audit_history, comparing, watched_writes
from harness.history import records
from tests.histories import audit_logs, language

PODS, CLAIMS = language.PODS, language.CLAIMS
STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Success"}
GRACE = {"deletionTimestamp": "2026-11-22T15:00:00Z"}
Life = list[tuple[str, dict[str, Any]]]


def state(
    version: int, *, node: str = "", meta: dict[str, Any] | None = None, **status: Any
) -> dict[str, Any]:
    """An object at a revision."""
    known = {"namespace": language.NAMESPACE, "name": "x", "uid": "uid-x"}
    spec = {"nodeName": node} if node else {}
    full = known | {"resourceVersion": str(version)} | (meta or {})
    return {"metadata": full, "spec": spec, "status": status}


def watch(resource: str, life: Life, *, final_rv: int = 90) -> list[records.Body]:
    """The records of the life of one object."""
    seen: list[records.Body] = [listed(resource, "first", 0)]
    seen += [observation(resource, kind, value) for kind, value in life]
    alive = [life[-1][1]] if life and life[-1][0] != "DELETED" else []
    seen += [listed(resource, "final", final_rv, len(alive))]
    return [*seen, *(observation(resource, "FINAL", value) for value in alive)]


def listed(resource: str, purpose: Any, version: int, count: int = 0) -> records.Listed:
    return records.Listed(
        resource=resource, purpose=purpose, resource_version=version, count=count, ts_ns=0
    )


def observation(resource: str, kind: Any, value: dict[str, Any]) -> records.Observation:
    return records.Observation(
        resource=resource,
        type=kind,
        resource_version=int(value["metadata"]["resourceVersion"]),
        ts_ns=0,
        object=msgspec.Raw(json.dumps(value).encode()),
    )


def differences(seen: list[records.Body], told: list[dict[str, Any]]) -> list[str]:
    return [item.text for item in compare(seen, told).differences]


def compare(seen: list[records.Body], told: list[dict[str, Any]]) -> comparing.Comparison:
    watched = watched_writes.WatchedWrites()
    folded = hold_history.fold(seen, watched)
    holds = [(hold.uid, hold.device, hold.from_rv, hold.until_rv) for hold in folded.holds]
    events = (audit_events.decode(audit_logs.line(event)) for event in told)
    audited = audit_history.fold(events, namespace=language.NAMESPACE)
    found = comparing.compare(audited, watched, holds)
    assert found.difference_count == len(found.differences)
    return found


def told(resource: str, verb: str, answer: Any, **changes: Any) -> dict[str, Any]:
    made = audit_logs.event(resource, verb, answer, **changes)
    made["objectRef"] |= {"namespace": language.NAMESPACE, "name": "x"}
    return made


def binding(node: str, *, uid: str = "uid-x") -> dict[str, Any]:
    meta = {"name": "x"} | ({"uid": uid} if uid else {})
    sent = {"metadata": meta, "target": {"kind": "Node", "name": node}}
    return told(PODS, "create", STATUS, subresource="binding", code=201, requestObject=sent)


BOUND = [state(1), state(2, node="n1"), state(3, node="n1", phase="Running")]
BOUND_LIFE: Life = [("ADDED", BOUND[0]), ("MODIFIED", BOUND[1]), ("MODIFIED", BOUND[2])]
BOUND_LOG = [told(PODS, "create", BOUND[0]), told(PODS, "patch", BOUND[2], subresource="status")]


@pytest.mark.parametrize("uid", ["uid-x", ""])
def test_a_binding_explains_the_pod_on_its_node_once(uid: str) -> None:
    log = [*BOUND_LOG, binding("n1", uid=uid)]
    assert not differences(watch(PODS, BOUND_LIFE), log)
    twice = [*BOUND_LIFE, ("MODIFIED", state(4)), ("MODIFIED", state(5, node="n1"))]
    (first, second) = differences(watch(PODS, twice), log)
    assert ("revision 4" in first, "revision 5" in second) == (True, True)


def test_a_binding_to_another_node_explains_nothing() -> None:
    (text,) = differences(watch(PODS, BOUND_LIFE), [*BOUND_LOG, binding("n2")])
    assert text == (
        "pod tests/x at revision 2: the watch saw it on node n1 (MODIFIED), "
        "the audit log has no such write"
    )
    (text,) = differences(watch(PODS, BOUND_LIFE), BOUND_LOG)
    assert "revision 2" in text


def test_a_binding_that_the_watch_did_not_see_is_named() -> None:
    (text,) = differences(watch(PODS, BOUND_LIFE[::2]), [*BOUND_LOG, binding("n1")])
    assert text == (
        "pod tests/x: the watch saw no binding, but it without a node at revision 1 and on node n1 "
        "at 3, the audit log has its binding to node n1"
    )


FINALIZED = {"finalizers": ["resource.kubernetes.io/delete-protection"]}
CLAIM_LIFE: Life = [
    ("ADDED", state(1, meta=FINALIZED)),
    ("MODIFIED", state(2, meta=FINALIZED | GRACE)),
    ("DELETED", state(3, meta=GRACE)),
]
CLAIM_LOG = [
    told(CLAIMS, "create", CLAIM_LIFE[0][1]),
    told(CLAIMS, "delete", CLAIM_LIFE[1][1]),
    told(CLAIMS, "update", state(2, meta=GRACE)),
]


def test_the_removal_of_the_last_finalizer_explains_the_deletion() -> None:
    assert not differences(watch(CLAIMS, CLAIM_LIFE), CLAIM_LOG)
    (text,) = differences(watch(CLAIMS, CLAIM_LIFE), CLAIM_LOG[:2])
    assert text.startswith("claim tests/x at revision 3: the watch saw it without devices and node")


def test_a_deletion_that_the_watch_did_not_see_is_named() -> None:
    seen = [*watch(CLAIMS, CLAIM_LIFE[:2])[:-2], listed(CLAIMS, "final", 90)]
    (text,) = differences(seen, CLAIM_LOG)
    assert text == (
        "claim tests/x: the watch saw neither its end nor the object in the final list, "
        "the audit log has its end after revision 2"
    )
    alive = watch(CLAIMS, CLAIM_LIFE[:2])
    assert not differences(alive, CLAIM_LOG), "it ended after the final list"


def test_a_pod_that_is_deleted_at_once_is_first_written_with_no_grace_period() -> None:
    zero = GRACE | {"deletionGracePeriodSeconds": 0}
    life: Life = [
        ("ADDED", state(1)),
        ("MODIFIED", state(2, meta=zero)),
        ("DELETED", state(3, meta=zero)),
    ]
    log = [told(PODS, "create", life[0][1]), told(PODS, "delete", life[2][1])]
    assert not differences(watch(PODS, life), log)
    extra = copy.deepcopy(life)
    extra.insert(1, ("MODIFIED", state(2, phase="Running")))
    extra[2] = "MODIFIED", state(3, meta=zero, phase="Running")
    extra[3] = "DELETED", state(4, meta=zero, phase="Running")
    log = [told(PODS, "create", life[0][1]), told(PODS, "delete", extra[3][1])]
    (text,) = differences(watch(PODS, extra), log)
    assert "revision 2" in text, "a lost write is not taken for a step of the deletion"


def _changed(
    life: Life, index: int, part: str, value: dict[str, Any], *, later: bool = False
) -> Life:
    """The life with another part of a version, and of all later ones."""
    found = copy.deepcopy(life)
    for _, item in found[index:] if later else found[index : index + 1]:
        item[part] |= value
    return found


@pytest.mark.parametrize(
    ("part", "value", "is_lawful"),
    [
        ("status", {"conditions": [{"type": "PodScheduled", "status": "True"}]}, True),
        ("metadata", {"generation": 2}, False),
        ("metadata", {"finalizers": ["a/b"]}, False),
        ("spec", {"priority": 1}, False),
        ("status", {"phase": "Failed"}, False),
        ("status", {"resourceClaimStatuses": []}, False),
    ],
)
def test_a_binding_changes_nothing_else(part: str, value: dict[str, Any], is_lawful: bool) -> None:
    found = differences(
        watch(PODS, _changed(BOUND_LIFE, 1, part, value)), [*BOUND_LOG, binding("n1")]
    )
    assert [is_lawful] == [not found]
    assert all(f"does not change its {part} like this" in text for text in found)


@pytest.mark.parametrize("part", ["labels", "annotations"])
def test_what_a_binding_adds_stays(part: str) -> None:
    value = {part: {"topology.kubernetes.io/zone": "a"}}
    stays = _changed(BOUND_LIFE, 1, "metadata", value, later=True)
    log = [BOUND_LOG[0], told(PODS, "patch", stays[2][1], subresource="status"), binding("n1")]
    assert not differences(watch(PODS, stays), log)
    vanishes = _changed(BOUND_LIFE, 1, "metadata", value)
    (text,) = differences(watch(PODS, vanishes), [*BOUND_LOG, binding("n1")])
    assert (
        "the watch saw other labels or annotations at revision 2 than before and after it" in text
    )


@pytest.mark.parametrize(
    ("part", "value", "is_lawful"),
    [
        ("metadata", {"generation": 2}, True),
        ("metadata", {"labels": {"a": "b"}}, False),
        ("spec", {"priority": 1}, False),
        ("status", {"reservedFor": []}, False),
    ],
)
def test_an_end_changes_nothing_else(part: str, value: dict[str, Any], is_lawful: bool) -> None:
    last = len(CLAIM_LIFE) - 1
    found = differences(watch(CLAIMS, _changed(CLAIM_LIFE, last, part, value)), CLAIM_LOG)
    assert [is_lawful] == [not found]
    assert all(f"does not change its {part} like this" in text for text in found)


@pytest.mark.parametrize("verb", ["deletecollection", "evict"])
def test_a_collection_and_an_eviction_explain_the_steps_of_a_deletion(verb: str) -> None:
    thirty, zero = ({"deletionGracePeriodSeconds": seconds} for seconds in (30, 0))
    life: Life = [
        ("ADDED", state(1)),
        ("MODIFIED", state(2, meta=GRACE | thirty)),
        ("MODIFIED", state(3, meta=GRACE | zero)),
        ("DELETED", state(4, meta=GRACE | zero)),
    ]
    collected = {"kind": "PodList", "items": [life[0][1]]}
    request = (
        told(PODS, "deletecollection", collected)
        if verb == "deletecollection"
        else told(PODS, "create", STATUS, subresource="eviction", code=201)
    )
    log = [told(PODS, "create", life[0][1]), request]
    assert not differences(watch(PODS, life), log)
    assert len(differences(watch(PODS, life), log[:1])) == 3


def test_a_hold_may_end_at_an_unknown_revision_with_its_claim() -> None:
    result = {"request": "r", "driver": "d", "pool": "p", "device": "D1"}
    status = {"allocation": {"devices": {"results": [result]}}}
    life: Life = [(kind, copy.deepcopy(value) | {"status": status}) for kind, value in CLAIM_LIFE]
    log = [
        told(
            CLAIMS, verb, life[index][1] if index < 2 else state(2, meta=GRACE) | {"status": status}
        )
        for index, verb in enumerate(["create", "delete", "update"])
    ]
    assert not differences(watch(CLAIMS, life), log)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"stage": "Panic"}, "ended in a panic"),
        ({"code": 504}, "was answered with status 504"),
        ({"responseObject": None, "level": "Metadata"}, "level Metadata"),
    ],
)
def test_a_request_that_may_have_written_does_not_confirm_a_write(
    changes: dict[str, Any], reason: str
) -> None:
    log = [*BOUND_LOG[:1], binding("n1"), told(PODS, "patch", BOUND[2], **changes)]
    (text,) = differences(watch(PODS, BOUND_LIFE), log)
    assert text.startswith("pod tests/x at revision 3")
    assert reason in text


# ------------------------------------------------------------- what a write must not explain


def test_a_state_that_no_binding_leaves_behind_disputes_the_observation() -> None:
    seen = watch(PODS, _changed(BOUND_LIFE, 1, "spec", {"priority": 1}))
    [disputed] = compare(seen, [*BOUND_LOG, binding("n1")]).disputed
    assert (disputed.version, disputed.uid) == (2, "uid-x")
    assert not compare(seen, BOUND_LOG).disputed, "a write that is missing tells no other state"


def test_a_binding_is_no_deletion() -> None:
    life: Life = [*BOUND_LIFE, ("DELETED", state(4, node="n1", phase="Running"))]
    (text,) = differences(watch(PODS, life), [*BOUND_LOG, binding("n1")])
    assert text.startswith("pod tests/x at revision 4")


def test_the_end_of_a_pod_is_not_that_of_a_claim_of_its_name() -> None:
    life: Life = [("ADDED", state(1)), ("DELETED", state(2))]
    ends = {
        resource: told(resource, "delete", {"kind": "Status", "status": "Success"})
        for resource in (CLAIMS, PODS)
    }
    created = told(CLAIMS, "create", life[0][1])
    assert not differences(watch(CLAIMS, life), [created, ends[CLAIMS]])
    (text,) = differences(watch(CLAIMS, life), [created, ends[PODS]])
    assert text.startswith("claim tests/x at revision 2")


def test_a_binding_before_the_first_list_is_not_missed_after_it() -> None:
    bound, running = state(2, node="n1"), state(3, node="n1", phase="Running")
    seen = [
        listed(PODS, "first", 2, 1),
        observation(PODS, "LISTED", bound),
        *watch(PODS, [("MODIFIED", running)])[1:],
    ]
    log = [*BOUND_LOG[:1], binding("n1"), told(PODS, "patch", running, subresource="status")]
    assert not differences(seen, log)


TARGET = {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}
EVICTION = told(PODS, "create", STATUS, subresource="eviction", code=201)


def test_an_eviction_explains_one_change_of_the_conditions() -> None:
    life: Life = [("ADDED", state(1)), ("MODIFIED", state(2, **TARGET))]
    log = [told(PODS, "create", life[0][1])]
    assert not differences(watch(PODS, life), [*log, EVICTION])
    again: Life = [*life, ("MODIFIED", state(3))]
    (text,) = differences(watch(PODS, again), [*log, EVICTION])
    assert text.startswith("pod tests/x at revision 3")
    collected = told(PODS, "deletecollection", {"kind": "PodList", "items": [life[0][1]]})
    (text,) = differences(watch(PODS, life), [*log, collected])
    assert text.startswith("pod tests/x at revision 2")


def test_an_end_that_the_log_has_with_its_revision_is_named_once() -> None:
    marked = state(2, meta=GRACE | {"deletionGracePeriodSeconds": 30})
    seen = [
        *watch(PODS, [("ADDED", state(1)), ("MODIFIED", marked)])[:-2],
        listed(PODS, "final", 90),
    ]
    gone = told(PODS, "delete", state(4, meta=GRACE | {"deletionGracePeriodSeconds": 0}))
    (text,) = differences(seen, [told(PODS, "create", state(1)), EVICTION, gone])
    assert text == (
        "pod tests/x at revision 4: the watch saw nothing, the audit log has its deletion"
    )


def test_an_object_is_as_the_update_that_ended_it_sent_it() -> None:
    labels = {"labels": {"a": "b"}}
    life = _changed(CLAIM_LIFE, 2, "metadata", labels)
    log = [*CLAIM_LOG[:2], told(CLAIMS, "update", state(2, meta=GRACE | labels))]
    assert not differences(watch(CLAIMS, life), log)


def test_an_object_of_which_only_the_end_was_seen() -> None:
    found = differences(watch(CLAIMS, CLAIM_LIFE[2:]), CLAIM_LOG)
    assert [text.partition(":")[0] for text in found] == [
        "claim tests/x at revision 1",
        "claim tests/x at revision 2",
    ]


def test_a_binding_explains_nothing_without_the_pod_before_it() -> None:
    found = differences(watch(PODS, BOUND_LIFE[1:]), [*BOUND_LOG, binding("n1")])
    assert "pod tests/x at revision 2" in found[0]
    assert "the audit log has no such write" in found[0]


# ------------------------------------------------------------------------------ unknown ends


def _held(life: Life) -> Life:
    result = {"request": "r", "driver": "d", "pool": "p", "device": "D1"}
    status = {"allocation": {"devices": {"results": [result]}}}
    return [(kind, copy.deepcopy(value) | {"status": status}) for kind, value in life]


@pytest.mark.parametrize(
    ("until", "agrees"), [(None, True), (4, True), (3, True), (2, False), (1, False)]
)
def test_a_hold_ends_after_the_last_write_that_shows_it(until: int | None, agrees: bool) -> None:
    life = _held(CLAIM_LIFE)
    sent = copy.deepcopy(life[2][1])
    sent["metadata"]["resourceVersion"] = "2"
    log = [
        told(CLAIMS, verb, value)
        for verb, value in zip(
            ["create", "delete", "update"], [life[0][1], life[1][1], sent], strict=True
        )
    ]
    events = (audit_events.decode(audit_logs.line(event)) for event in log)
    audited = audit_history.fold(events, namespace=language.NAMESPACE)
    watched = watched_writes.WatchedWrites()
    hold_history.fold(watch(CLAIMS, life), watched)
    found = comparing.compare(audited, watched, [("uid-x", "d/p/D1", 1, until)])
    assert [agrees] == [not found.difference_count], found.differences
