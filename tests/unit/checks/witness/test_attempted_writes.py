"""Requests without an answer that were committed all the same: their clients were killed."""

import copy
import json
from typing import Any

import msgspec
import pytest

from harness.checks.witness import attempted_writes
from tests.unit.checks.witness import lives

META = {"name": "x", "namespace": "tests", "uid": "u", "resourceVersion": "5"}
ALLOCATED = {"allocation": {"devices": {"results": [{"device": "D1"}]}}}
OTHER = {"allocation": {"devices": {"results": [{"device": "D2"}]}}}
FINALIZERS = ["resource.kubernetes.io/delete-protection"]
P, Q = ({"resource": "pods", "name": name, "uid": name} for name in "pq")


def claim(version: int = 5, *, meta: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    known = META | {"resourceVersion": str(version)} | (meta or {})
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}}
    return {"metadata": known, "spec": spec, "status": status}


def explains(verb: str, sent: Any, before: Any, seen: Any, **options: Any) -> bool:
    is_deletion = options.pop("is_deletion", False)
    raw = msgspec.Raw(json.dumps(sent).encode())
    attempt = attempted_writes.Attempt(
        verb=verb, subresource=options.pop("subresource", ""), sent=raw
    )
    contents = [json.dumps(item).encode() if item else b"" for item in (before, seen)]
    return attempt.explains(contents[0], contents[1], is_deletion=is_deletion)


@pytest.mark.parametrize(
    ("sent", "seen", "is_lawful"),
    [
        (claim(**ALLOCATED), claim(6, **ALLOCATED), True),
        (claim(**ALLOCATED), claim(6, **OTHER), False),
        (claim(**ALLOCATED), claim(6), False),
        (claim(**ALLOCATED), claim(6, reservedFor=[P]), False),
        (claim(4, **ALLOCATED), claim(6, **ALLOCATED), False),
        (claim(meta={"uid": "v"}, **ALLOCATED), claim(6, **ALLOCATED), False),
        (claim(meta={"labels": {"a": "b"}}, **ALLOCATED), claim(6, **ALLOCATED), True),
        (claim(**ALLOCATED), claim(6, meta={"labels": {"a": "b"}}, **ALLOCATED), False),
        (claim(**ALLOCATED), claim(6, meta={"deletionTimestamp": "t"}, **ALLOCATED), False),
        (claim(**ALLOCATED), claim(6, **ALLOCATED) | {"spec": {}}, False),
    ],
)
def test_an_update_of_the_status_leaves_what_was_sent(
    sent: Any, seen: Any, is_lawful: bool
) -> None:
    assert explains("update", sent, claim(), seen, subresource="status") is is_lawful


def test_an_update_leaves_the_status_as_it_was() -> None:
    sent = claim(meta={"finalizers": FINALIZERS, "managedFields": [{}]}, **OTHER)
    stored = claim(6, meta={"finalizers": FINALIZERS}, **ALLOCATED)
    assert explains("update", sent, claim(**ALLOCATED), stored)
    assert not explains("update", sent, claim(), stored)
    assert not explains("update", sent, claim(**ALLOCATED), claim(6, **ALLOCATED))
    assert not explains("update", sent, claim(**ALLOCATED), stored, subresource="resize")
    flat = claim(meta={"finalizers": FINALIZERS})
    flat["spec"] = {"devices": {"requests": [{"name": "r", "deviceClassName": "c"}]}}
    assert explains("update", flat, claim(**ALLOCATED), stored), "v1beta1"


RESERVED = claim(reservedFor=[P, Q], **ALLOCATED)
REMOVAL = {"reservedFor": [{"$patch": "delete", "uid": "q"}]}


@pytest.mark.parametrize(
    ("patch", "before", "seen", "is_lawful"),
    [
        ({"reservedFor": [Q]}, claim(reservedFor=[P]), claim(6, reservedFor=[P, Q]), True),
        ({"reservedFor": [Q]}, claim(reservedFor=[P]), claim(6, reservedFor=[Q]), True),
        ({"reservedFor": [Q]}, claim(), claim(6, reservedFor=[P]), False),
        ({"reservedFor": [Q]}, claim(), claim(6, reservedFor=[Q, P]), False),
        ({"reservedFor": [Q]}, claim(), claim(6, reservedFor=[Q], **ALLOCATED), False),
        ({"reservedFor": [Q]}, claim(), claim(6), False),
        (REMOVAL, RESERVED, claim(6, reservedFor=[P], **ALLOCATED), True),
        (REMOVAL, RESERVED, claim(6, reservedFor=[P, Q], **ALLOCATED), False),
        (REMOVAL, RESERVED, claim(6, reservedFor=[P]), False),
        ({"allocation": None}, RESERVED, claim(6, reservedFor=[P, Q]), True),
        ({"allocation": None}, RESERVED, claim(6, reservedFor=[P, Q], **ALLOCATED), False),
        ({"phase": "Running"}, claim(phase="Pending"), claim(6, phase="Running"), True),
        ({"phase": "Running"}, claim(phase="Pending"), claim(6, phase="Failed"), False),
    ],
)
def test_a_patch_changes_what_it_names(
    patch: dict[str, Any], before: Any, seen: Any, is_lawful: bool
) -> None:
    sent = {"metadata": {"uid": "u"}, "status": patch}
    assert explains("patch", sent, before, seen, subresource="status") is is_lawful
    stale = {"metadata": {"resourceVersion": "4"}, "status": patch}
    assert not explains("patch", stale, before, seen, subresource="status")


def test_a_patch_of_the_metadata_changes_nothing_else() -> None:
    patch = {"metadata": {"labels": {"a": "b"}}}
    kept = claim(meta={"labels": {"k": "v"}})
    assert explains("patch", patch, kept, claim(6, meta={"labels": {"k": "v", "a": "b"}}))
    assert not explains("patch", patch, kept, claim(6, meta={"labels": {"a": "b"}}))
    assert not explains("patch", patch, kept, claim(6, meta={"labels": {"k": "v", "a": "c"}}))
    assert not explains("patch", [{"op": "add"}], kept, claim(6)), "a JSON patch is not read"


def test_a_creation_has_what_was_sent() -> None:
    sent = {"metadata": {"generateName": "x-", "labels": {"a": "b"}}, "spec": {"a": [{"b": 1}]}}
    made = copy.deepcopy(sent)
    made["metadata"] |= META | {"name": "x-123"}
    made["spec"] = {"a": [{"b": 1, "c": "default"}], "d": "default"}
    assert explains("create", sent, None, made)
    assert not explains("create", sent, made, made), "it was there before"
    made["spec"]["a"][0]["b"] = 2  # type: ignore[index]
    assert not explains("create", sent, None, made)


def test_the_last_finalizer_may_be_removed_without_an_answer() -> None:
    marked = claim(meta={"deletionTimestamp": "t", "finalizers": FINALIZERS}, **ALLOCATED)
    bare = claim(meta={"deletionTimestamp": "t"}, **ALLOCATED)
    gone = copy.deepcopy(marked)
    gone["metadata"]["resourceVersion"] = "6"
    for verb, sent in (("update", bare), ("patch", {"metadata": {"finalizers": None}})):
        assert explains(verb, sent, marked, gone, is_deletion=True)
        assert not explains(verb, sent, claim(meta={"finalizers": FINALIZERS}), gone)
        changed = gone | {"status": OTHER}
        assert not explains(verb, sent, marked, changed, is_deletion=True)
    label = {"metadata": {"labels": {"a": "b"}}}
    assert not explains("patch", label, marked, gone, is_deletion=True)


@pytest.mark.parametrize("code", [504, 500, 408, 499, 0])
def test_a_log_with_an_unanswered_request_agrees_with_the_watch(code: int) -> None:
    log = [
        lives.BOUND_LOG[0],
        lives.binding("n1") | {"responseStatus": {"code": code}},
        lives.told(
            lives.PODS,
            "patch",
            {"kind": "Status", "metadata": {}},
            subresource="status",
            code=code,
            requestObject={"status": {"phase": "Running"}},
        ),
    ]
    assert not lives.pod_differences(lives.BOUND_LIFE, log)
    (text,) = lives.pod_differences(
        lives.changed(lives.BOUND_LIFE, 2, "status", {"phase": "Failed"}), log
    )
    assert f"has only a request that was answered with status {code}" in text
    twice: lives.Life = [
        *lives.BOUND_LIFE,
        ("MODIFIED", lives.state(4, node="n1", phase="Pending")),
        ("MODIFIED", lives.state(5, node="n1", phase="Running")),
    ]
    assert len(lives.pod_differences(twice, log)) == 2, "it commits once"


def test_the_holds_of_an_unanswered_allocation_and_of_its_end_agree() -> None:
    result = {"request": "r", "driver": "d", "pool": "p", "device": "D1"}
    status = {"allocation": {"devices": {"results": [result]}}}
    life: lives.Life = [
        ("ADDED", lives.state(1)),
        ("MODIFIED", lives.state(2, **status)),
        ("DELETED", lives.state(3, **status)),
    ]
    log = [
        lives.told(lives.CLAIMS, "create", life[0][1]),
        lives.told(
            lives.CLAIMS,
            "update",
            {"kind": "Status"},
            subresource="status",
            code=504,
            requestObject=lives.state(1, **status),
        ),
        lives.told(lives.CLAIMS, "delete", {"kind": "Status"}, code=504),
    ]
    seen = lives.watch(lives.CLAIMS, life)
    assert not lives.differences(seen, log)
    assert len(lives.differences(seen, log[:2])) == 2
    log[2]["requestObject"] = {"preconditions": {"uid": "uid-y"}}
    assert len(lives.differences(seen, log)) == 2, "it deleted another object"
