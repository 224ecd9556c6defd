"""Writes a history of the language as kube-apiserver writes its audit log."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec

from harness.checks.holds import hold_history
from harness.checks.witness import (
    audit_comparison,
    audit_events,
    audit_history,
    witnessed_writes,
)
from harness.history import records
from tests.histories import language

GROUPS = {language.CLAIMS: "resource.k8s.io", language.PODS: ""}
VERBS = {"ADDED": "create", "MODIFIED": "update", "DELETED": "delete"}


def lines(text: str, *, names: language.Names | None = None) -> bytes:
    return b"".join(line(item) for item in events(text, names=names))


def line(item: dict[str, Any]) -> bytes:
    return json.dumps(item, separators=(",", ":")).encode() + b"\n"


def events(text: str, *, names: language.Names | None = None) -> list[dict[str, Any]]:
    world = language.World(names or {})
    seen = [world.commit(commit) for commit in language.commits(text)]
    return [
        event(item.resource, VERBS[item.type], msgspec.json.decode(item.object))
        for item in seen
        if item is not None
    ]


def event(
    resource: str, verb: str, answer: Any, *, subresource: str = "", code: int = 200, **changes: Any
) -> dict[str, Any]:
    """An event with an answer; None: the log has no object. `changes` replace its fields."""
    meta = (answer or {}).get("metadata") or {}
    reference = {
        "resource": resource,
        "namespace": meta.get("namespace", language.NAMESPACE),
        "name": meta.get("name", ""),
        "apiGroup": GROUPS[resource],
        "apiVersion": "v1",
        "subresource": subresource,
    }
    made = {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "RequestResponse",
        "auditID": "3f6c4cb2-6d4b-4c8f-9a0c-0e6b3c3f0c1e",
        "stage": "ResponseComplete",
        "requestURI": f"/apis/{resource}",
        "verb": verb,
        "user": {"username": "system:admin", "groups": ["system:masters"]},
        "sourceIPs": ["127.0.0.1"],
        "userAgent": "tests",
        "objectRef": {key: value for key, value in reference.items() if value},
        "responseStatus": {"metadata": {}, "code": code},
        "responseObject": answer,
        "requestReceivedTimestamp": "2026-11-22T15:00:00.000000Z",
        "stageTimestamp": "2026-11-22T15:00:00.001000Z",
        "annotations": {"authorization.k8s.io/decision": "allow"},
    }
    return {key: value for key, value in (made | changes).items() if value is not None}


def compared(
    seen: Iterable[records.Body],
    told: Iterable[dict[str, Any]],
    *,
    holds: Any = None,
    ends: Any = (),
) -> audit_comparison.Comparison:
    """Fold the observations and the log, each by its own fold, and compare them.

    `holds`: instead of those of the watch. `ends`: of the API server.
    """
    audited = audit_history.fold(
        (audit_events.decode(line(event)) for event in told), namespace=language.NAMESPACE
    )
    watched = witnessed_writes.WatchedWrites(audited.writes)
    folded = hold_history.fold(seen, watched)
    known = [(hold.uid, hold.device, hold.from_rv, hold.until_rv) for hold in folded.holds]
    return audit_comparison.compare(audited, watched, known if holds is None else holds, ends=ends)
