"""Observations that no hidden write explains, and holds whose claim ended unseen."""

import copy

import pytest

from harness.checks.holds import hold_history
from harness.checks.witness import audit_events, audit_history, comparing, watched_writes
from tests.histories import audit_logs, language
from tests.unit.checks.witness import lives


def test_a_binding_is_no_deletion() -> None:
    life: lives.Life = [*lives.BOUND_LIFE, ("DELETED", lives.state(4, node="n1", phase="Running"))]
    (text,) = lives.pod_differences(life, [*lives.BOUND_LOG, lives.binding("n1")])
    assert text.startswith("pod tests/x at revision 4")


def test_the_end_of_a_pod_is_not_that_of_a_claim_of_its_name() -> None:
    life: lives.Life = [("ADDED", lives.state(1)), ("DELETED", lives.state(2))]
    ends = {
        resource: lives.told(resource, "delete", {"kind": "Status", "status": "Success"})
        for resource in (lives.CLAIMS, lives.PODS)
    }
    created = lives.told(lives.CLAIMS, "create", life[0][1])
    assert not lives.claim_differences(life, [created, ends[lives.CLAIMS]])
    (text,) = lives.claim_differences(life, [created, ends[lives.PODS]])
    assert text.startswith("claim tests/x at revision 2")


def test_a_binding_before_the_first_list_is_not_missed_after_it() -> None:
    bound, running = (lives.state(2, node="n1"), lives.state(3, node="n1", phase="Running"))
    seen = [
        lives.listed(lives.PODS, "first", 2, 1),
        lives.observation(lives.PODS, "LISTED", bound),
        *lives.watch(lives.PODS, [("MODIFIED", running)])[1:],
    ]
    log = [
        *lives.BOUND_LOG[:1],
        lives.binding("n1"),
        lives.told(lives.PODS, "patch", running, subresource="status"),
    ]
    assert not lives.differences(seen, log)


TARGET = {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}
EVICTION = lives.told(lives.PODS, "create", lives.STATUS, subresource="eviction", code=201)


def test_an_eviction_explains_one_change_of_the_conditions() -> None:
    life: lives.Life = [("ADDED", lives.state(1)), ("MODIFIED", lives.state(2, **TARGET))]
    log = [lives.told(lives.PODS, "create", life[0][1])]
    assert not lives.pod_differences(life, [*log, EVICTION])
    again: lives.Life = [*life, ("MODIFIED", lives.state(3))]
    (text,) = lives.pod_differences(again, [*log, EVICTION])
    assert text.startswith("pod tests/x at revision 3")
    collected = lives.told(
        lives.PODS, "deletecollection", {"kind": "PodList", "items": [life[0][1]]}
    )
    (text,) = lives.pod_differences(life, [*log, collected])
    assert text.startswith("pod tests/x at revision 2")


def test_an_end_that_the_log_has_with_its_revision_is_named_once() -> None:
    marked = lives.state(2, meta=lives.GRACE | {"deletionGracePeriodSeconds": 30})
    seen = [
        *lives.watch(lives.PODS, [("ADDED", lives.state(1)), ("MODIFIED", marked)])[:-2],
        lives.listed(lives.PODS, "final", 90),
    ]
    collected = lives.told(
        lives.PODS, "deletecollection", {"kind": "PodList", "items": [lives.state(1)]}
    )
    gone = lives.told(
        lives.PODS, "delete", lives.state(4, meta=lives.GRACE | {"deletionGracePeriodSeconds": 0})
    )
    (text,) = lives.differences(
        seen, [lives.told(lives.PODS, "create", lives.state(1)), collected, gone]
    )
    assert text == (
        "pod tests/x at revision 4: the watch saw nothing, the audit log has its deletion"
    )


def test_an_object_of_which_only_the_end_was_seen() -> None:
    found = lives.claim_differences(lives.CLAIM_LIFE[2:], lives.CLAIM_LOG)
    assert [text.partition(":")[0] for text in found] == [
        "claim tests/x at revision 1",
        "claim tests/x at revision 2",
    ]


def test_a_binding_explains_nothing_without_the_pod_before_it() -> None:
    found = lives.pod_differences(lives.BOUND_LIFE[1:], [*lives.BOUND_LOG, lives.binding("n1")])
    assert "pod tests/x at revision 2" in found[0]
    assert "the audit log has no such write" in found[0]


# ------------------------------------------------------------------------------ unknown ends


def _held(life: lives.Life) -> lives.Life:
    result = {"request": "r", "driver": "d", "pool": "p", "device": "D1"}
    status = {"allocation": {"devices": {"results": [result]}}}
    return [(kind, copy.deepcopy(value) | {"status": status}) for kind, value in life]


@pytest.mark.parametrize(
    ("until", "agrees"), [(None, True), (4, True), (3, True), (2, False), (1, False)]
)
def test_a_hold_ends_after_the_last_write_that_shows_it(until: int | None, agrees: bool) -> None:
    life = _held(lives.CLAIM_LIFE)
    sent = copy.deepcopy(life[2][1])
    sent["metadata"]["resourceVersion"] = "2"
    log = [
        lives.told(lives.CLAIMS, verb, value)
        for verb, value in zip(
            ["create", "delete", "update"], [life[0][1], life[1][1], sent], strict=True
        )
    ]
    events = (audit_events.decode(audit_logs.line(event)) for event in log)
    audited = audit_history.fold(events, namespace=language.NAMESPACE)
    watched = watched_writes.WatchedWrites()
    hold_history.fold(lives.watch(lives.CLAIMS, life), watched)
    found = comparing.compare(audited, watched, [("uid-x", "d/p/D1", 1, until)])
    assert [agrees] == [not found.difference_count], found.differences
