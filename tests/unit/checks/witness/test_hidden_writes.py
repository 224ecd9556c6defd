"""Writes whose answers have no revision: bindings, last finalizers, collections, evictions."""

import copy
from typing import Any

import pytest

from tests.unit.checks.witness import lives


@pytest.mark.parametrize("uid", ["uid-x", ""])
def test_a_binding_explains_the_pod_on_its_node_once(uid: str) -> None:
    log = [*lives.BOUND_LOG, lives.binding("n1", uid=uid)]
    assert not lives.pod_differences(lives.BOUND_LIFE, log)
    twice = [
        *lives.BOUND_LIFE,
        ("MODIFIED", lives.state(4)),
        ("MODIFIED", lives.state(5, node="n1")),
    ]
    (first, second) = lives.pod_differences(twice, log)
    assert ("revision 4" in first, "revision 5" in second) == (True, True)


def test_a_binding_to_another_node_explains_nothing() -> None:
    (text,) = lives.pod_differences(lives.BOUND_LIFE, [*lives.BOUND_LOG, lives.binding("n2")])
    assert text == (
        "pod tests/x at revision 2: the watch saw it on node n1 (MODIFIED), "
        "the audit log has no such write"
    )
    (text,) = lives.pod_differences(lives.BOUND_LIFE, lives.BOUND_LOG)
    assert "revision 2" in text


def test_a_binding_that_the_watch_did_not_see_is_named() -> None:
    (text,) = lives.pod_differences(lives.BOUND_LIFE[::2], [*lives.BOUND_LOG, lives.binding("n1")])
    assert text == (
        "pod tests/x: the watch saw no binding, but it without a node at revision 1 and on node n1 "
        "at 3, the audit log has its binding to node n1"
    )


def test_a_write_that_changes_nothing_may_be_answered_with_the_binding() -> None:
    """A second attempt to write what the pod has already, after a lost answer."""
    again = lives.told(lives.PODS, "patch", lives.BOUND_LIFE[1][1], subresource="status")
    log = [*lives.BOUND_LOG, lives.binding("n1"), again]
    assert not lives.pod_differences(lives.BOUND_LIFE, log)


def test_the_removal_of_the_last_finalizer_explains_the_deletion() -> None:
    assert not lives.claim_differences(lives.CLAIM_LIFE, lives.CLAIM_LOG)
    (text,) = lives.claim_differences(lives.CLAIM_LIFE, lives.CLAIM_LOG[:2])
    assert text.startswith("claim tests/x at revision 3: the watch saw it without devices and node")


def test_a_deletion_that_the_watch_did_not_see_is_named() -> None:
    seen = [
        *lives.watch(lives.CLAIMS, lives.CLAIM_LIFE[:2])[:-2],
        lives.listed(lives.CLAIMS, "final", 90),
    ]
    (text,) = lives.differences(seen, lives.CLAIM_LOG)
    assert text == (
        "claim tests/x: the watch saw neither its end nor the object in the final list, "
        "the audit log has its end after revision 2"
    )
    alive = lives.watch(lives.CLAIMS, lives.CLAIM_LIFE[:2])
    assert not lives.differences(alive, lives.CLAIM_LOG), "it ended after the final list"


def test_a_pod_that_is_deleted_at_once_is_first_written_with_no_grace_period() -> None:
    zero = lives.GRACE | {"deletionGracePeriodSeconds": 0}
    life: lives.Life = [
        ("ADDED", lives.state(1)),
        ("MODIFIED", lives.state(2, meta=zero)),
        ("DELETED", lives.state(3, meta=zero)),
    ]
    log = [
        lives.told(lives.PODS, "create", life[0][1]),
        lives.told(lives.PODS, "delete", life[2][1]),
    ]
    assert not lives.pod_differences(life, log)
    extra = copy.deepcopy(life)
    extra.insert(1, ("MODIFIED", lives.state(2, phase="Running")))
    extra[2] = "MODIFIED", lives.state(3, meta=zero, phase="Running")
    extra[3] = "DELETED", lives.state(4, meta=zero, phase="Running")
    log = [
        lives.told(lives.PODS, "create", life[0][1]),
        lives.told(lives.PODS, "delete", extra[3][1]),
    ]
    (text,) = lives.pod_differences(extra, log)
    assert "revision 2" in text, "a lost write is not taken for a step of the deletion"


@pytest.mark.parametrize(("uid", "is_explained"), [("uid-x", True), ("uid-y", False)])
def test_a_patch_that_completes_a_deletion_is_that_of_its_object(
    uid: str, is_explained: bool
) -> None:
    marked = lives.FINALIZED | lives.GRACE
    life: lives.Life = [
        ("ADDED", lives.state(1, meta=lives.FINALIZED)),
        ("MODIFIED", lives.state(2, meta=marked)),
        ("DELETED", lives.state(3, meta=marked)),
    ]
    log = [
        lives.told(lives.PODS, "create", life[0][1]),
        lives.told(lives.PODS, "delete", life[1][1]),
        lives.told(lives.PODS, "patch", lives.state(2, meta=lives.GRACE | {"uid": uid})),
    ]
    found = lives.pod_differences(life, log)
    assert is_explained is not bool(found)
    assert all("the audit log has no such write" in text for text in found)


def test_a_deletion_that_came_second_is_answered_without_a_revision() -> None:
    second = lives.state(0, meta=lives.GRACE)
    del second["metadata"]["resourceVersion"]
    log = [*lives.CLAIM_LOG[:2], lives.told(lives.CLAIMS, "delete", second)]
    assert not lives.claim_differences(lives.CLAIM_LIFE, log)
    second["metadata"]["uid"] = "uid-y"
    assert lives.claim_differences(lives.CLAIM_LIFE, log)


@pytest.mark.parametrize("verb", ["deletecollection", "evict"])
def test_a_collection_and_an_eviction_explain_the_steps_of_a_deletion(verb: str) -> None:
    thirty, zero = ({"deletionGracePeriodSeconds": seconds} for seconds in (30, 0))
    life: lives.Life = [
        ("ADDED", lives.state(1)),
        ("MODIFIED", lives.state(2, meta=lives.GRACE | thirty)),
        ("MODIFIED", lives.state(3, meta=lives.GRACE | zero)),
        ("DELETED", lives.state(4, meta=lives.GRACE | zero)),
    ]
    collected = {"kind": "PodList", "items": [life[0][1]]}
    request = (
        lives.told(lives.PODS, "deletecollection", collected)
        if verb == "deletecollection"
        else lives.told(lives.PODS, "create", lives.STATUS, subresource="eviction", code=201)
    )
    log = [lives.told(lives.PODS, "create", life[0][1]), request]
    assert not lives.pod_differences(life, log)
    assert len(lives.pod_differences(life, log[:1])) == 3


def test_a_hold_may_end_at_an_unknown_revision_with_its_claim() -> None:
    result = {"request": "r", "driver": "d", "pool": "p", "device": "D1"}
    status = {"allocation": {"devices": {"results": [result]}}}
    life: lives.Life = [
        (kind, copy.deepcopy(value) | {"status": status}) for kind, value in lives.CLAIM_LIFE
    ]
    log = [
        lives.told(
            lives.CLAIMS,
            verb,
            life[index][1] if index < 2 else lives.state(2, meta=lives.GRACE) | {"status": status},
        )
        for index, verb in enumerate(["create", "delete", "update"])
    ]
    assert not lives.claim_differences(life, log)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"stage": "Panic"}, "ended in a panic"),
        ({"code": 504, "subresource": "resize"}, "was answered with status 504"),
        ({"responseObject": None, "level": "Metadata"}, "level Metadata"),
    ],
)
def test_a_request_that_may_have_written_does_not_confirm_a_write(
    changes: dict[str, Any], reason: str
) -> None:
    log = [
        *lives.BOUND_LOG[:1],
        lives.binding("n1"),
        lives.told(lives.PODS, "patch", lives.BOUND[2], **changes),
    ]
    (text,) = lives.pod_differences(lives.BOUND_LIFE, log)
    assert text.startswith("pod tests/x at revision 3")
    assert reason in text


MARKED = lives.GRACE | {"deletionGracePeriodSeconds": 30}
TERMINATING: lives.Life = [
    *lives.BOUND_LIFE,
    ("MODIFIED", lives.state(4, node="n1", meta=MARKED, phase="Running")),
]
TERMINATING_LOG = [
    *lives.BOUND_LOG,
    lives.binding("n1"),
    lives.told(lives.PODS, "delete", TERMINATING[3][1]),
]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("at", [0, 4])
def test_a_second_graceful_deletion_is_no_write_of_the_revision_of_its_answer(
    version: int, at: int
) -> None:
    """kube-apiserver answers it with the object as it had read it before, marked."""
    answer = copy.deepcopy(TERMINATING[version - 1][1])
    answer["metadata"] |= MARKED
    log = [*TERMINATING_LOG[:at], lives.told(lives.PODS, "delete", answer), *TERMINATING_LOG[at:]]
    assert not lives.pod_differences(TERMINATING, log)


def test_such_an_answer_on_another_node_is_a_difference() -> None:
    answer = lives.state(3, node="n2", meta=MARKED, phase="Running")
    log = [*TERMINATING_LOG, lives.told(lives.PODS, "delete", answer)]
    assert lives.pod_differences(TERMINATING, log)


def test_a_revision_that_only_such_an_answer_has_is_not_explained_by_it() -> None:
    log = [item for item in TERMINATING_LOG if item is not lives.BOUND_LOG[1]]
    answer = lives.state(3, node="n1", meta=MARKED, phase="Running")
    log.append(lives.told(lives.PODS, "delete", answer))
    (text,) = lives.pod_differences(TERMINATING, log)
    assert "revision 3" in text


# ----------------------------------------------------------------- requests without an answer


@pytest.mark.parametrize("code", [504, 500, 408, 499, 0])
def test_a_request_without_an_answer_may_be_committed_once(code: int) -> None:
    sent = {"status": {"phase": "Running"}}
    log = [
        lives.BOUND_LOG[0],
        lives.binding("n1") | {"responseStatus": {"code": code}},
        lives.told(lives.PODS, "patch", {"kind": "Status"}, code=code, requestObject=sent),
    ]
    assert not lives.pod_differences(lives.BOUND_LIFE, log)
    twice: lives.Life = [
        *lives.BOUND_LIFE,
        ("MODIFIED", lives.state(4, node="n1", phase="Pending")),
        ("MODIFIED", lives.state(5, node="n1", phase="Running")),
    ]
    found = lives.pod_differences(twice, log)
    assert len(found) == 2
    assert f"has only a request that was answered with status {code}" in found[0]


def _held(device: str) -> dict[str, Any]:
    result = {"request": "r", "driver": "d", "pool": "p", "device": device}
    return {"allocation": {"devices": {"results": [result]}}}


@pytest.mark.parametrize(
    ("verb", "sent", "seen", "is_explained"),
    [
        ("update", lives.state(1, **_held("D1")), _held("D1"), True),
        ("update", lives.state(1, **_held("D1")), _held("D2"), False),
        ("update", lives.state(1, **_held("D1")), {}, False),
        ("update", lives.state(1), _held("D1"), False),
        ("patch", {"status": _held("D1")}, _held("D1"), True),
        ("patch", {"status": _held("D1")}, _held("D2"), False),
        ("patch", {"status": {"reservedFor": []}}, {}, True),
        ("patch", {"status": {"reservedFor": []}}, _held("D1"), False),
        ("patch", [{"op": "add"}], _held("D1"), False),
        ("create", lives.state(1), {}, False),
    ],
)
def test_it_leaves_the_devices_that_it_names(
    verb: str, sent: Any, seen: dict[str, Any], is_explained: bool
) -> None:
    life: lives.Life = [("ADDED", lives.state(1)), ("MODIFIED", lives.state(2, **seen))]
    log = [
        lives.told(lives.CLAIMS, "create", life[0][1]),
        lives.told(lives.CLAIMS, verb, {}, subresource="status", code=504, requestObject=sent),
    ]
    assert is_explained is not any(lives.claim_differences(life, log))


def test_it_may_make_an_object_or_end_one() -> None:
    marked = lives.state(2, meta=lives.FINALIZED | lives.GRACE)
    life: lives.Life = [
        ("ADDED", lives.state(1)),
        ("MODIFIED", marked),
        ("DELETED", lives.state(3, meta=lives.GRACE)),
    ]
    log = [
        lives.told(lives.CLAIMS, "create", {}, code=504, requestObject={}),
        lives.told(lives.CLAIMS, "delete", marked),
        lives.told(lives.CLAIMS, "patch", {}, code=504, requestObject={}),
    ]
    assert not lives.claim_differences(life, log)
    assert lives.claim_differences([life[0], life[2]], log[::2]), "it was not deleted"


def test_the_holds_of_an_unanswered_allocation_and_of_its_end_agree() -> None:
    life: lives.Life = [
        ("ADDED", lives.state(1)),
        ("MODIFIED", lives.state(2, **_held("D1"))),
        ("DELETED", lives.state(3, **_held("D1"))),
    ]
    sent = lives.state(1, **_held("D1"))
    log = [
        lives.told(lives.CLAIMS, "create", life[0][1]),
        lives.told(lives.CLAIMS, "update", {}, subresource="status", code=504, requestObject=sent),
        lives.told(lives.CLAIMS, "delete", {}, code=504),
    ]
    seen = lives.watch(lives.CLAIMS, life)
    assert not lives.differences(seen, log)
    assert len(lives.differences(seen, log[:2])) == 2
    log[2]["requestObject"] = {"preconditions": {"uid": "uid-y"}}
    assert len(lives.differences(seen, log)) == 2, "it deleted another object"
