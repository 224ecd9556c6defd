"""The audit log: what is noted of every request, in Kubernetes' words, before its answer leaves,
and never a token.
"""

import itertools
import json
import pathlib
import types
from collections.abc import Callable
from typing import Any

import pytest

from harness import clocks, errors
from harness.apiserver.endpoints import responses
from harness.apiserver.server import audit_log
from tests.support import protobuf_messages

TIMEOUT_S = 20
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "new" / "deep" / "audit.log"


@pytest.fixture
def audited(serve: Callable[..., Any], path: pathlib.Path) -> Any:
    ticks = itertools.count()

    def now() -> str:
        return f"2026-01-01T00:00:{next(ticks):02}.000000Z"

    return serve(make_parts=lambda: {"audit": audit_log.AuditLog(path, now=now)})


def read(path: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def config(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


def test_a_write_is_there_when_it_is_answered(audited: Any, path: pathlib.Path) -> None:
    headers = {"Audit-ID": "id-of-the-client", "User-Agent": "tester/1"}
    body = json.dumps(config("a"), indent=2).encode()  # of several lines
    status, made = audited.call("POST", f"{CONFIGMAPS}?x=y", body, headers=headers)
    (event,) = read(path)
    assert (status, path.stat().st_mode & 0o777) == (201, 0o600)
    assert event == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "auditID": "id-of-the-client",
        "stage": "ResponseComplete",
        "requestURI": f"{CONFIGMAPS}?x=y",
        "verb": "create",
        "user": {"username": "flake-hunt", "groups": ["system:masters", "system:authenticated"]},
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "tester/1",
        "objectRef": {
            "resource": "configmaps",
            "namespace": "default",
            "name": "a",
            "apiVersion": "v1",
        },
        "responseStatus": {"metadata": {}, "code": 201},
        "requestObject": config("a"),
        "responseObject": made,
        "requestReceivedTimestamp": "2026-01-01T00:00:00.000000Z",
        "stageTimestamp": "2026-01-01T00:00:01.000000Z",
        "annotations": {"authorization.k8s.io/decision": "allow"},
    }


def test_writes_can_be_put_in_the_order_of_their_commits(audited: Any, path: pathlib.Path) -> None:
    _, made = audited.call("POST", CLAIMS, config("c") | {"spec": {}})
    _, changed = audited.call("PUT", f"{CLAIMS}/c/status", made | {"status": {}})
    audited.call("DELETE", f"{CLAIMS}/c")
    events = read(path)
    versions = [int(event["responseObject"]["metadata"]["resourceVersion"]) for event in events]
    assert versions == sorted(versions)
    assert events[1]["objectRef"] == {
        "resource": "resourceclaims",
        "namespace": "default",
        "name": "c",
        "uid": made["metadata"]["uid"],
        "apiGroup": "resource.k8s.io",
        "apiVersion": "v1",
        "resourceVersion": made["metadata"]["resourceVersion"],
        "subresource": "status",
    }
    assert events[1]["responseObject"] == changed


def test_who_is_nobody_is_noted_and_no_token_ever(audited: Any, path: pathlib.Path) -> None:
    audited.call("GET", CONFIGMAPS, token="a-wrong-token")
    audited.call("GET", CONFIGMAPS)
    nobody, somebody = read(path)
    assert (nobody["user"], nobody["responseStatus"]["code"]) == ({}, 401)
    assert nobody["annotations"] == {"authorization.k8s.io/decision": "forbid"}
    assert somebody["user"]["username"] == "flake-hunt"
    for secret in ("a-wrong-token", "secret-of-the-tests"):
        assert secret not in path.read_text()


def test_a_token_in_a_url_is_not_noted(audited: Any, path: pathlib.Path) -> None:
    audited.call("GET", f"{CONFIGMAPS}?limit=1&token=hidden&Access_Token=hidden&x=y")
    (event,) = read(path)
    assert "hidden" not in path.read_text()
    query = "limit=1&token=REDACTED&Access_Token=REDACTED&x=y"
    assert event["requestURI"] == f"{CONFIGMAPS}?{query}"


def test_a_watch_has_a_beginning_and_an_end(audited: Any, path: pathlib.Path) -> None:
    with audited.watching(f"{CONFIGMAPS}?watch=true") as events:
        audited.call("POST", CONFIGMAPS, config("a"))
        next(events)
        started = read(path)[0]
        assert (started["stage"], started["verb"]) == ("ResponseStarted", "watch")
    clocks.wait_until(lambda: len(read(path)) == 3, timeout_s=TIMEOUT_S, why="the watch's end")
    ended = read(path)[2]
    assert (ended["stage"], ended["auditID"]) == ("ResponseComplete", started["auditID"])
    assert "responseObject" not in ended
    audited.call("GET", CLAIMS)
    audited.call("POST", CONFIGMAPS, config("later"))
    assert _sent(path) == [], "a log of all requests has no versions that were sent"


def test_what_is_refused_or_no_resource_is_noted_as_it_is(audited: Any, path: pathlib.Path) -> None:
    audited.call("POST", CLAIMS, config("c") | {"spec": {}})
    audited.call("PUT", f"{CLAIMS}/c", config("x") | {"spec": {}})
    audited.call("POST", CLAIMS, b"[" * 100_000)
    audited.call("GET", "/version")
    audited.call("GET", "/healthz")
    made, other, deep, version, health = read(path)
    assert made["auditID"] != other["auditID"]
    for event, name in ((other, "c"), (deep, "")):
        assert event["responseStatus"] == event["responseObject"]
        assert event["responseStatus"]["code"] == 400
        assert event["objectRef"].get("name", "") == name
    assert other["requestObject"] == config("x") | {"spec": {}}
    assert "requestObject" not in deep
    assert "objectRef" not in version
    assert "responseObject" not in health, "a text is no object"


def test_the_impersonated_user_is_noted(audited: Any, path: pathlib.Path) -> None:
    for headers in ({"Impersonate-User": "flake-hunt:scheduler"}, {}):
        audited.call("GET", CONFIGMAPS, headers=headers)
    named, plain = read(path)
    assert named["user"] == plain["user"]
    assert named["impersonatedUser"] == {
        "username": "flake-hunt:scheduler",
        "groups": ["system:authenticated"],
    }
    assert "impersonatedUser" not in plain


def test_protobuf_is_noted_as_objects(audited: Any, path: pathlib.Path) -> None:
    document = {"kind": "ConfigMap", "apiVersion": "v1"} | config("a")
    headers = {"Content-Type": responses.PROTOBUF}
    status, _ = audited.call(
        "POST", CONFIGMAPS, protobuf_messages.encode(document), headers=headers
    )
    assert status == 201
    made = audited.call("GET", f"{CONFIGMAPS}/a")[1]
    audited.call("GET", CONFIGMAPS, headers=headers)
    audited.call("GET", f"{CONFIGMAPS}/none", headers=headers)
    created, got, listed, missing = read(path)
    assert created["requestObject"] == document
    assert created["responseObject"] == got["responseObject"] == made
    assert created["objectRef"]["name"] == "a"
    assert [item["metadata"]["name"] for item in listed["responseObject"]["items"]] == ["a"]
    assert missing["responseStatus"] == missing["responseObject"]
    assert missing["responseStatus"]["reason"] == "NotFound"


# ---------------------------------------------------------------- writes of some resources


@pytest.fixture
def writes_only(serve: Callable[..., Any], path: pathlib.Path) -> Any:
    def parts() -> dict[str, Any]:
        made = audit_log.AuditLog(
            path, now=clocks.wall_text_us, writes_of=["configmaps", "resourceclaims"]
        )
        return {"audit": made}

    return serve(make_parts=parts)


def test_a_log_of_writes_has_nothing_else(writes_only: Any, path: pathlib.Path) -> None:
    _, made = writes_only.call("POST", CONFIGMAPS, config("a"))
    writes_only.call("POST", CONFIGMAPS, config("a"))  # 409
    writes_only.call("GET", CONFIGMAPS)
    writes_only.call("POST", "/api/v1/namespaces", config("other"))
    (event,) = read(path)
    assert event["responseObject"] == made
    assert event["requestObject"] == config("a")


def _sent(path: pathlib.Path) -> list[tuple[str, int]]:
    noted = [event for event in read(path) if audit_log.SENT in event["annotations"]]
    for event in noted:
        assert event["annotations"]["authorization.k8s.io/decision"] == "allow"
        assert len(event["annotations"][audit_log.MOMENTS].split()) == 2
    return [(event["verb"], int(event["annotations"][audit_log.SENT])) for event in noted]


def _claim(server: Any, name: str) -> int:
    _, made = server.call("POST", CLAIMS, {"metadata": {"name": name}, "spec": {}})
    return int(made["metadata"]["resourceVersion"])


def test_versions_that_a_list_or_watch_sends_are_noted(
    writes_only: Any, path: pathlib.Path
) -> None:
    first = _claim(writes_only, "a")
    _, listed = writes_only.call("GET", CLAIMS)
    with writes_only.watching(f"{CLAIMS}?watch=1&resourceVersion={first}") as events:
        second = _claim(writes_only, "b")
        next(events)
        with writes_only.watching(f"{CLAIMS}?watch=1") as all_claims:
            next(all_claims), next(all_claims)
            third = _claim(writes_only, "c")
            next(events), next(all_claims)
    writes_only.call("POST", CONFIGMAPS, config("later"))
    version = int(listed["metadata"]["resourceVersion"])
    assert sorted(set(_sent(path))) == sorted(
        {("list", version), ("watch", first), ("watch", second), ("watch", third)}
    )


def test_reads_of_ours_of_others_and_those_that_fail_are_not_noted(
    writes_only: Any, path: pathlib.Path
) -> None:
    _claim(writes_only, "a")
    writes_only.call("GET", CLAIMS, headers={"User-Agent": "flake-hunt-scheduler/1"})
    writes_only.call("GET", f"{CLAIMS}?labelSelector=a%2F")
    writes_only.call("GET", f"{CLAIMS}/a")
    writes_only.call("GET", CONFIGMAPS)
    writes_only.call("POST", CONFIGMAPS, config("later"))
    assert _sent(path) == []


def test_a_write_says_when_it_was_received_and_answered(
    writes_only: Any, path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticking = types.SimpleNamespace(monotonic_ns=itertools.count(1).__next__)
    monkeypatch.setattr(audit_log, "clocks", ticking)
    _claim(writes_only, "a")
    (event,) = read(path)
    assert event["annotations"][audit_log.MOMENTS] == "1 2"


CONTAINERS = {"containers": [{"name": "a", "image": "i"}]}
OWNED: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": (CLAIMS, {"spec": {}}),
    "kept": (CLAIMS, {"spec": {}, "metadata": {"finalizers": ["example.com/kept"]}}),
    "waiting": (PODS, {"spec": CONTAINERS}),
    "bound": (PODS, {"spec": CONTAINERS | {"nodeName": "n1"}}),
    "unlogged": (CONFIGMAPS, {}),
}
"""Objects that the garbage collector deletes, by their names."""


def test_the_garbage_collector_appears_like_a_client(
    serve: Callable[..., Any], path: pathlib.Path
) -> None:
    """It removes some, marks the others, and what is no resource of the log is not there."""
    kinds = ["resourceclaims", "pods"]
    log = audit_log.AuditLog(path, now=clocks.wall_text_us, writes_of=kinds)
    server = serve(make_parts=lambda: {"audit": log})
    _, owner = server.call("POST", CONFIGMAPS, config("owner"))
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner"}
    owners = [reference | {"uid": owner["metadata"]["uid"]}]
    made = {}
    for name, (url, body) in OWNED.items():
        meta = {"name": name, "ownerReferences": owners} | body.get("metadata", {})
        status, made[name] = server.call("POST", url, body | {"metadata": meta})
        assert status == 201, made[name]
    server.call("DELETE", f"{CONFIGMAPS}/owner")
    clocks.wait_until(
        lambda: server.call("GET", f"{CONFIGMAPS}/unlogged")[0] == 404 and len(read(path)) >= 8,
        timeout_s=TIMEOUT_S,
        why="the collector",
    )
    told = {event["objectRef"]["name"]: event for event in read(path)[4:]}
    assert len(read(path)) == 8
    for name, verb in {
        "plain": "delete",
        "kept": "patch",
        "waiting": "delete",
        "bound": "patch",
    }.items():
        url, plural = OWNED[name][0], OWNED[name][0].rpartition("/")[2]
        uid, group = made[name]["metadata"]["uid"], "resource.k8s.io" * (url is CLAIMS)
        answer = server.call("GET", f"{url}/{name}")[1]
        if verb == "delete":
            assert answer["code"] == 404
            details = {"name": name, "kind": plural, "uid": uid}
            answer = {"kind": "Status", "apiVersion": "v1", "status": "Success", "details": details}
        assert told[name].pop("auditID")
        assert told[name].pop("stageTimestamp")
        assert told[name] == audit_log.COMMON | {
            "stage": "ResponseComplete",
            "verb": verb,
            "user": {"username": "system:serviceaccount:kube-system:generic-garbage-collector"},
            "objectRef": {
                "resource": plural,
                "namespace": "default",
                "name": name,
                "uid": uid,
                "apiGroup": group,
                "apiVersion": "v1",
            },
            "responseStatus": {"metadata": {}, "code": 200},
            "responseObject": answer,
            "annotations": {"authorization.k8s.io/decision": "allow"},
        }


def test_a_restart_is_noted_and_a_torn_line_is_ended(path: pathlib.Path) -> None:
    path.parent.mkdir(parents=True)
    for torn in (b"", b'{"kind":"Event","apiV', b'{"kind":"Event"}\n'):
        path.write_bytes(torn)
        log = audit_log.AuditLog(path, now=clocks.wall_text_us, writes_of=["pods"])
        log.begin_again(812)
        log.close()
        lines = path.read_bytes().splitlines()
        if not torn:
            assert not lines
            continue
        assert lines[0] == torn.strip()
        event = json.loads(lines[1])
        assert event.pop("auditID")
        assert event.pop("stageTimestamp")
        assert event == audit_log.COMMON | {
            "stage": "ResponseComplete",
            "verb": "restore",
            "annotations": {audit_log.RESTORED: "812"},
        }


def test_a_path_that_cannot_be_written_is_a_wrong_use(path: pathlib.Path) -> None:
    path.mkdir(parents=True)
    for wrong in (path, pathlib.Path(__file__) / "audit.log"):
        with pytest.raises(errors.UsageError):
            audit_log.AuditLog(wrong, now=clocks.wall_text_us)
