"""Audit events as kube-apiserver writes them, and what they say about claims and pods."""

import json
from typing import Any

import pytest

from harness.apiserver.server import audit_log
from harness.checks.observed import observations
from harness.checks.witness import audit_events, audit_history, witnessed_writes
from tests.histories import audit_logs, language
from tests.support import cases

META = {"namespace": language.NAMESPACE, "name": "a", "uid": "uid-a", "resourceVersion": "7"}
MARKED = META | {"deletionTimestamp": "2026-11-22T15:00:00Z"}
STATUS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
CLAIM = {"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1", "metadata": META}
POD = {"kind": "Pod", "apiVersion": "v1", "metadata": META}
BINDING = {"metadata": {"name": "a", "uid": "uid-a"}, "target": {"kind": "Node", "name": "n1"}}
RESULT = {"request": "r", "driver": language.DRIVER, "pool": language.POOL, "device": "D1"}
ALLOCATED = CLAIM | {"status": {"allocation": {"devices": {"results": [RESULT]}}}}
EVICTION = {"kind": "Eviction", "deleteOptions": {"dryRun": ["All"]}}
OBJECTS = {"claim": ("resourceclaims", CLAIM), "pod": ("pods", POD)}


def facts(event: dict[str, Any]) -> list[audit_events.Fact]:
    return list(audit_events.facts(audit_events.decode(json.dumps(event).encode())))


def request(words: str, *, meta: Any = None, **changes: Any) -> dict[str, Any]:
    """The event of a request like `claim update`, whose answer is the object with more metadata."""
    kind, verb = words.split()
    resource, plain = OBJECTS[kind]
    answer = changes.pop("answer", plain | {"metadata": META | (meta or {})})
    made = audit_logs.event(resource, verb, answer, **changes)
    if kind == "pod":
        made["objectRef"] |= {"name": "a"}
    return made


@pytest.mark.parametrize(("words", "changes", "is_deletion"), cases.params(__file__, "writes"))
def test_an_answer_with_the_object_is_a_write_of_its_revision(
    words: str, changes: dict[str, Any], is_deletion: bool
) -> None:
    (fact,) = facts(request(words, **changes))
    assert isinstance(fact, witnessed_writes.Write)
    assert (fact.state.uid, fact.state.version, fact.is_deletion) == ("uid-a", 7, is_deletion)


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ({}, {}),
        ({"resource": "bindings", "subresource": ""}, {}),
        ({"resource": "bindings", "subresource": "", "name": ""}, {}),
        ({"uid": "uid-a"}, {"metadata": None}),
    ],
)
def test_a_binding_names_the_node(path: dict[str, str], sent: dict[str, Any]) -> None:
    """By the old path, the name may be in the body alone."""
    event = request(
        "pod create", answer=STATUS, subresource="binding", code=201, requestObject=BINDING | sent
    )
    event["objectRef"] |= path
    (fact,) = facts(event)
    assert isinstance(fact, audit_events.Hidden)
    assert (fact.kind, fact.resource, fact.name, fact.node) == ("bound", "pods", "a", "n1")
    assert fact.uid == "uid-a"


@pytest.mark.parametrize(
    ("uid", "more"),
    [("uid-a", {}), ("", {"details": {"uid": "uid-a"}}), ("uid-a", {"details": {}})],
)
def test_an_end_without_the_object_is_of_the_uid_that_is_told(uid: str, more: Any) -> None:
    event = request("claim delete", responseObject=STATUS | more)
    event["objectRef"] |= {"uid": uid}
    (fact,) = facts(event)
    assert isinstance(fact, audit_events.Hidden)
    assert (fact.kind, fact.uid) == ("gone", "uid-a")


@pytest.mark.parametrize("code", [201, 504])
@pytest.mark.parametrize(
    ("sent", "kind"),
    [
        ({"subresource": "eviction"}, "evicted"),
        (
            {"subresource": "eviction", "requestObject": EVICTION | {"deleteOptions": [1]}},
            "evicted",
        ),
        ({"subresource": "binding"}, "bound"),
    ],
)
def test_only_an_answer_makes_a_write_certain(code: int, sent: Any, kind: str) -> None:
    fact = facts(
        request("pod create", answer=STATUS, code=code, **{"requestObject": BINDING} | sent)
    )[-1]
    assert isinstance(fact, audit_events.Hidden)
    assert (fact.kind, fact.is_certain) == (kind, code == 201)


@pytest.mark.parametrize(
    ("verb", "subresource", "sent", "held"),
    [
        ("update", "status", ALLOCATED, (language.device_id("D1"),)),
        ("patch", "status", ALLOCATED, (language.device_id("D1"),)),
        ("update", "status", CLAIM, ()),
        ("patch", "status", CLAIM, None),
        ("update", "", ALLOCATED, None),
    ],
)
def test_an_attempt_gives_a_claim_the_devices_of_its_status(
    verb: str, subresource: str, sent: dict[str, Any], held: tuple[str, ...] | None
) -> None:
    (fact,) = facts(request(f"claim {verb}", subresource=subresource, code=504, requestObject=sent))
    assert isinstance(fact, audit_events.Unclear)
    assert fact.held == held


@pytest.mark.parametrize(("words", "changes", "reason"), cases.params(__file__, "unclear"))
def test_a_request_whose_write_does_not_show_is_unclear(
    words: str, changes: dict[str, Any], reason: str
) -> None:
    (fact,) = facts(request(words, **changes))
    assert isinstance(fact, audit_events.Unclear)
    assert (fact.name, reason in fact.reason) == ("a", True), fact.reason


@pytest.mark.parametrize(("words", "changes"), cases.params(__file__, "nothing"))
def test_what_writes_nothing_says_nothing(words: str, changes: dict[str, Any]) -> None:
    assert not facts(request(words, **changes))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\x00\xff\xfe",
        b'{"kind":"Event","apiVersion":"v1","stage":"x"}',
        b'{"kind":"EventList","apiVersion":"audit.k8s.io/v1","stage":"x"}',
        b'{"kind":"Event","apiVersion":"audit.k8s.io/v1","stage":1}',
        b'{"kind":"Event","apiVersion":"audit.k8s.io/v1","verb":"cre',
        b'{"kind":' + b"[" * 100_000,
    ],
)
def test_what_is_no_event_is_told_apart(line: bytes) -> None:
    with pytest.raises(audit_events.NoEventError):
        audit_events.decode(line)


def test_deep_objects_are_unclear_and_no_error() -> None:
    deep = b"[" * 50_000 + b"]" * 50_000
    line = audit_logs.line(request("claim update")).replace(
        b'"responseObject":{', b'"responseObject":%b,"x":{' % deep, 1
    )
    try:
        event = audit_events.decode(line)
    except audit_events.NoEventError:
        return
    (fact,) = audit_events.facts(event)
    assert isinstance(fact, audit_events.Unclear)


def test_each_object_of_a_deleted_collection_may_have_ended() -> None:
    items = [{"metadata": META | {"name": name, "uid": f"uid-{name}"}} for name in "ab"]
    found = facts(request("claim deletecollection", responseObject={"items": items}))
    told = [item for item in found if isinstance(item, audit_events.Hidden)]
    assert [(item.kind, item.name, item.uid, item.after) for item in told] == [
        ("collected", "a", "uid-a", 7),
        ("collected", "b", "uid-b", 7),
    ]


def test_the_log_has_the_annotations_that_our_server_writes() -> None:
    written = audit_log.RESTORED, audit_log.MOMENTS, audit_log.SENT
    assert written == (audit_events.RESTORED, audit_events.MOMENTS, audit_history.SENT)


@pytest.mark.parametrize(("more", "says_more"), cases.params(__file__, "states"))
def test_a_state_says_more_by_what_is_compared(more: dict[str, Any], says_more: bool) -> None:
    plain = witnessed_writes.state_of({"metadata": META})
    other = witnessed_writes.state_of({**more, "metadata": META | more.get("metadata", {})})
    assert other.says_more(plain) is says_more
    assert not other.differing(plain)


def test_a_node_says_more() -> None:
    plain, bound = (
        witnessed_writes.state_of({"metadata": META, "spec": spec})
        for spec in ({}, {"nodeName": "n"})
    )
    assert bound.says_more(plain)


@pytest.mark.parametrize("content", [b"{", b'{"metadata":"\xff"}', b"[" * 100_000, b"[]"])
def test_what_is_no_object_is_told_apart(content: bytes) -> None:
    with pytest.raises(observations.ObjectError):
        witnessed_writes.read_state(content)


def test_only_a_graceful_deletion_may_have_marked_nothing() -> None:
    stored, answered = (witnessed_writes.state_of({"metadata": meta}) for meta in (META, MARKED))
    for is_marking in (False, True):
        write = witnessed_writes.Write("pods", answered, is_marking=is_marking)
        assert write.may_be_none(stored) is is_marking
