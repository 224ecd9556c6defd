"""Bodies in JSON and protobuf, views of answers, and what is said of other media types."""

from typing import Any

import pytest

from harness.apiserver.endpoints import responses
from tests.support import protobuf_messages

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PROTOBUF = responses.PROTOBUF
IN_PROTOBUF = {"Content-Type": PROTOBUF}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


def test_protobuf_as_kubectl_sends_it(live: Any) -> None:
    """`kubectl create namespace a`, byte for byte: what is empty is sent too."""
    meta = b"\x0a\x01a\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00"
    message = b"\x0a" + bytes([len(meta)]) + meta + b"\x12\x00\x1a\x02\x0a\x00"
    named = b"\x0a\x02v1\x12\x09Namespace"
    body = b"k8s\x00\x0a" + bytes([len(named)]) + named + b"\x12" + bytes([len(message)]) + message
    status, made = live.call("POST", "/api/v1/namespaces", body, headers=IN_PROTOBUF)
    assert status == 201, made
    assert (made["metadata"]["name"], made["spec"]) == ("a", {"finalizers": ["kubernetes"]})


NAMED_CONFIGMAP = b"k8s\x00\x0a\x0f\x0a\x02v1\x12\x09ConfigMap"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"k8s\0\x0a\x7f",
        b"k8s\0\x0a\x0e\x0a\x02v1\x12\x08Nonsense",
        b"k8s\0\x0a\x0d\x0a\x02v1\x12\x07Service\x12\0",
        NAMED_CONFIGMAP + b"\x12\x02\x0a\x7f",
    ],
)
def test_what_is_no_protobuf(live: Any, body: bytes) -> None:
    status, answer = live.call("POST", CONFIGMAPS, body, headers=IN_PROTOBUF)
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert "not a ConfigMap: " in answer["message"]


def test_a_kind_that_is_not_said_is_the_expected_one(live: Any) -> None:
    raw = b"\x0a\x03\x0a\x01u"
    status, made = live.call("POST", CONFIGMAPS, b"k8s\0\x12\x05" + raw, headers=IN_PROTOBUF)
    assert (status, made["kind"]) == (201, "ConfigMap"), made


POD = {
    "kind": "Pod",
    "apiVersion": "v1",
    "metadata": {"name": "p"},
    "spec": {
        "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}],
        "volumes": [{"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}],
    },
}


def send(live: Any, method: str, path: str, document: Any) -> tuple[int, Any]:
    body = protobuf_messages.encode(document)
    answer: tuple[int, Any] = live.call(method, path, body, headers=IN_PROTOBUF)
    return answer


def test_what_a_scheduler_writes_in_protobuf(live: Any) -> None:
    """A pod, its binding, an event and a lease, and options of deletions, as kube-scheduler and its
    clients send them.
    """
    pods = "/api/v1/namespaces/default/pods"
    assert send(live, "POST", pods, POD)[0] == 201
    target = {"kind": "Node", "name": "worker-0"}
    binding = {"kind": "Binding", "apiVersion": "v1", "metadata": {"name": "p"}, "target": target}
    status, answer = send(live, "POST", f"{pods}/p/binding", binding)
    assert status == 201, answer
    found = live.call("GET", f"{pods}/p")[1]
    assert found["spec"]["nodeName"] == "worker-0"
    assert found["spec"]["volumes"][0]["emptyDir"] == {"sizeLimit": "1Gi"}
    event = {
        "kind": "Event", "apiVersion": "events.k8s.io/v1", "metadata": {"name": "e", "namespace": "default"},
        "eventTime": "2026-01-01T00:00:00.000001Z", "reportingController": "default-scheduler", "reportingInstance": "s",
        "action": "Binding", "reason": "Scheduled", "type": "Normal", "note": "bound",
        "regarding": {"kind": "Pod", "namespace": "default", "name": "p"},
    }  # fmt: skip
    events = "/apis/events.k8s.io/v1/namespaces/default/events"
    status, made = send(live, "POST", events, event)
    assert (status, made["eventTime"]) == (201, event["eventTime"]), made
    leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    spec = {"leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000001Z"}
    named = {"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": {"name": "l"}}
    lease = named | {"spec": spec}
    status, made = send(live, "POST", leases, lease)
    assert status == 201, made
    made["spec"]["holderIdentity"] = "me"
    status, made = send(live, "PUT", f"{leases}/l", made)
    assert (status, made["spec"]["holderIdentity"]) == (200, "me"), made
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "another"}}
    status, answer = send(live, "DELETE", f"{pods}/p", options)
    assert (status, answer["reason"]) == (409, "Conflict")
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    assert send(live, "DELETE", f"{pods}/p", options)[0] == 200
    assert live.call("GET", f"{pods}/p")[0] == 404


def test_options_of_a_deletion_that_are_no_protobuf(live: Any) -> None:
    status, answer = live.call("DELETE", f"{CONFIGMAPS}/x", b"k8s\0\x0a\x7f", headers=IN_PROTOBUF)
    assert status == 400
    assert "not DeleteOptions" in answer["message"]


def test_a_form_that_is_not_there_is_refused_before_anything_is_done(live: Any) -> None:
    path, new = f"{CONFIGMAPS}/a", {"metadata": {"name": "a"}, "data": {"a": "1"}}
    live.call("POST", CONFIGMAPS, new)
    accept = {"Accept": "text/html"}
    assert live.call("PUT", path, new | {"data": {}}, headers=accept)[0] == 406
    assert live.call("DELETE", path, headers=accept)[0] == 406
    assert live.call("GET", path)[1]["data"] == {"a": "1"}


def test_tables_and_metadata_of_what_was_written(live: Any) -> None:
    new = {"metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}}
    _, table = live.call("POST", CONFIGMAPS, new, headers={"Accept": TABLE})
    assert (table["kind"], table["rows"][0]["cells"][0]) == ("Table", "a")
    _, part = live.call("GET", f"{CONFIGMAPS}/a", headers={"Accept": PARTIAL})
    assert (part["kind"], set(part)) == (
        "PartialObjectMetadata",
        {"kind", "apiVersion", "metadata"},
    )
    wide = f"{CONFIGMAPS}/a?includeObject=Object"
    _, table = live.call("GET", wide, headers={"Accept": TABLE})
    assert table["rows"][0]["object"]["data"] == new["data"]
