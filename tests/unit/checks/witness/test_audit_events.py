"""Audit events as kube-apiserver writes them, and what they say about claims and pods."""

import json
from typing import Any

import pytest

from harness.apiserver.server import audit_log
from harness.checks.observed import observations
from harness.checks.witness import audit_events, audit_history, witnessed_writes
from tests.histories import audit_logs, language

META = {"namespace": language.NAMESPACE, "name": "a", "uid": "uid-a", "resourceVersion": "7"}
MARKED = META | {"deletionTimestamp": "2026-11-22T15:00:00Z"}
STATUS = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
CLAIM = {"kind": "ResourceClaim", "apiVersion": "resource.k8s.io/v1", "metadata": META}
POD = {"kind": "Pod", "apiVersion": "v1", "metadata": META}
CLAIMS_OF_NO_NAME = {
    "resource": "resourceclaims",
    "apiGroup": "resource.k8s.io",
    "namespace": language.NAMESPACE,
}
"""The reference of an object that is created with generateName has no name."""
APPLIED = "/apis/resource.k8s.io/v1/namespaces/tests/resourceclaims/a?fieldManager=x&force=true"
BINDING = {"metadata": {"name": "a", "uid": "uid-a"}, "target": {"kind": "Node", "name": "n1"}}
RESULT = {"request": "r", "driver": language.DRIVER, "pool": language.POOL, "device": "D1"}
ALLOCATED = CLAIM | {"status": {"allocation": {"devices": {"results": [RESULT]}}}}
EVICTION = {"kind": "Eviction", "deleteOptions": {"dryRun": ["All"]}}


def facts(event: dict[str, Any]) -> list[audit_events.Fact]:
    return list(audit_events.facts(audit_events.decode(json.dumps(event).encode())))


def claim(verb: str, meta: dict[str, Any] = META, **changes: Any) -> dict[str, Any]:
    return audit_logs.event("resourceclaims", verb, CLAIM | {"metadata": meta}, **changes)


def pod(verb: str, answer: Any = POD, **changes: Any) -> dict[str, Any]:
    made = audit_logs.event("pods", verb, answer, **changes)
    made["objectRef"] |= {"name": "a"}
    return made


@pytest.mark.parametrize(
    ("event", "is_deletion"),
    [
        (claim("create", code=201), False),
        (claim("update"), False),
        (claim("update", code=299), False),
        (claim("update", authenticationMetadata={}, next=[1], user={"extra": {}}), False),
        (claim("update", subresource="status"), False),
        (claim("patch"), False),
        (claim("delete"), True),
        (claim("update", META | {"deletionTimestamp": None}), False),
        (claim("delete", MARKED | {"finalizers": ["x/y"], "deletionGracePeriodSeconds": 0}), False),
        (claim("delete", MARKED | {"deletionGracePeriodSeconds": 0}), True),
        (pod("delete", POD | {"metadata": MARKED | {"deletionGracePeriodSeconds": 30}}), False),
        (claim("update", MARKED | {"finalizers": ["x/y"]}), False),
        (pod("patch", POD | {"metadata": MARKED | {"deletionGracePeriodSeconds": 30}}), False),
        (claim("update", apiVersion="audit.k8s.io/v1beta1"), False),
        (claim("create", objectRef=CLAIMS_OF_NO_NAME), False),
        (claim("update", impersonatedUser={"username": "system:kube-scheduler"}), False),
        (claim("patch", requestObject=[{"op": "remove", "path": "/status/allocation"}]), False),
        (claim("patch", requestObject={"kind": "ResourceClaim"}, requestURI=APPLIED), False),
        (
            claim("update", code=200, annotations={"mutation.webhook.admission.k8s.io/a": "{}"}),
            False,
        ),
        (claim("update", META | {"managedFields": [{"manager": "x"}]}), False),
        (pod("patch", subresource="resize"), False),
        (pod("update", subresource="ephemeralcontainers"), False),
        (claim("update", stageTimestamp="2026-11-22T14:59:59.999999Z"), False),
        (claim("update", requestURI="/apis/x?dryRun=&timeout=1s"), False),
    ],
)
def test_an_answer_with_the_object_is_a_write_of_its_revision(
    event: dict[str, Any], is_deletion: bool
) -> None:
    (fact,) = facts(event)
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
    event = pod("create", STATUS, subresource="binding", code=201, requestObject=BINDING | sent)
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
    event = claim("delete", responseObject=STATUS | more)
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
    fact = facts(pod("create", STATUS, code=code, **{"requestObject": BINDING} | sent))[-1]
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
    (fact,) = facts(claim(verb, subresource=subresource, code=504, requestObject=sent))
    assert isinstance(fact, audit_events.Unclear)
    assert fact.held == held


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (claim("update", stage="Panic"), "panic"),
        (claim("update", code=504), "status 504"),
        (claim("update", code=408), "status 408"),
        (claim("update", code=399), "status 399"),
        (claim("update", code=500), "status 500"),
        (claim("update", code=300), "status 300"),
        (claim("update", responseObject=None, level="Metadata"), "level Metadata"),
        (
            claim("update", responseObject=None, annotations={"audit.k8s.io/truncated": "true"}),
            "too large",
        ),
        (claim("update", responseObject=None, level="None", annotations=None), "level None"),
        (pod("create", STATUS, subresource="binding"), "without its objects"),
        (pod("create", STATUS, subresource="binding", code=504), "status 504"),
        (pod("deletecollection", STATUS), "without the deleted objects"),
        (pod("update", STATUS), "a Status instead"),
        (pod("update", responseObject="skipped-too-big-size-object"), "no object"),
        (claim("update", responseObject=None, level="Request"), "level Request"),
        (claim("update", responseStatus=None), "status 0"),
        (pod("create", None, subresource="exec", code=101), "status 101"),
        (pod("deletecollection", None, level="Metadata"), "level Metadata"),
        (pod("update", []), "no object"),
        (pod("update", {"metadata": []}), "no object"),
        (pod("update", {}), "no object"),
        (pod("delete", {"metadata": {}}), "no object"),
        (pod("update", {"metadata": META | {"resourceVersion": ""}}), "no object"),
        (pod("update", {"metadata": {"uid": "uid-a", "resourceVersion": "7"}}), "no object"),
        (pod("update", {"metadata": META | {"resourceVersion": "x"}}), "no object"),
        (pod("update", {"metadata": META | {"resourceVersion": "9" * 30}}), "no object"),
    ],
)
def test_a_request_whose_write_does_not_show_is_unclear(event: dict[str, Any], reason: str) -> None:
    (fact,) = facts(event)
    assert isinstance(fact, audit_events.Unclear)
    assert (fact.name, reason in fact.reason) == ("a", True), fact.reason


@pytest.mark.parametrize(
    "event",
    [
        claim("get"),
        claim("list"),
        claim("update", code=400),
        claim("update", code=409),
        claim("create", code=422),
        claim("update", stage="RequestReceived", responseStatus=None),
        claim("update", stage="ResponseStarted"),
        claim("update", requestURI="/apis/x?fieldManager=y&dryRun=All"),
        claim("delete", requestObject={"kind": "DeleteOptions", "dryRun": ["All"]}),
        claim("deletecollection", requestObject={"kind": "DeleteOptions", "dryRun": ["All"]}),
        claim("create", requestURI="/apis/x?dryRun=All"),
        claim("patch", requestURI="/apis/x?dryRun=All&fieldManager=y", requestObject=[]),
        claim("deletecollection", requestURI="/apis/x?dryRun=All&labelSelector=a%3Db"),
        pod("create", STATUS, subresource="binding", requestURI="/api/v1/x/binding?dryRun=All"),
        pod("create", STATUS, subresource="eviction", requestObject=EVICTION),
        claim("watch", stage="ResponseStarted", code=200),
        claim("watch", code=200, responseObject=None),
        claim("update", code=429),
        claim("deletecollection", responseObject={"kind": "ResourceClaimList", "items": []}),
        claim("update", objectRef=None),
        claim("update", objectRef={"resource": "resourceclaims", "apiGroup": "example.com"}),
        claim("update", objectRef={"resource": "leases", "apiGroup": "coordination.k8s.io"}),
    ],
)
def test_what_writes_nothing_says_nothing(event: dict[str, Any]) -> None:
    assert not facts(event)


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
    line = audit_logs.line(claim("update")).replace(
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
    found = facts(claim("deletecollection", responseObject={"items": items}))
    told = [item for item in found if isinstance(item, audit_events.Hidden)]
    assert [(item.kind, item.name, item.uid, item.after) for item in told] == [
        ("collected", "a", "uid-a", 7),
        ("collected", "b", "uid-b", 7),
    ]


def test_the_log_has_the_annotations_that_our_server_writes() -> None:
    written = audit_log.RESTORED, audit_log.MOMENTS, audit_log.SENT
    assert written == (audit_events.RESTORED, audit_events.MOMENTS, audit_history.SENT)


@pytest.mark.parametrize(
    ("more", "says_more"),
    [
        ({"metadata": META | {"labels": {"a": "b"}}, "status": {"conditions": [{}]}}, False),
        ({"metadata": META | {"annotations": {"a": "b"}, "managedFields": [{}]}}, False),
        ({"metadata": META | {"resourceVersion": "8", "selfLink": "x"}}, False),
        ({"status": {"nominatedNodeName": "n"}}, False),
        ({"metadata": META | {"finalizers": ["a/b"]}}, True),
        ({"metadata": META | {"generation": 2}}, True),
        ({"spec": {"a": 1}}, True),
        ({"status": {"reservedFor": [{}]}}, True),
    ],
)
def test_a_state_says_more_by_what_is_compared(more: dict[str, Any], says_more: bool) -> None:
    plain = witnessed_writes.state_of({"metadata": META})
    other = witnessed_writes.state_of({"metadata": META, **more})
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
