"""The life of one object as the watch and the audit log tell it."""

import copy
from typing import Any

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
    known = {"namespace": language.NAMESPACE, "name": "x", "uid": "uid-x"}
    spec = {"nodeName": node} if node else {}
    full = known | {"resourceVersion": str(version)} | (meta or {})
    return {"metadata": full, "spec": spec, "status": status}


def watch(resource: str, life: Life, *, final_rv: int = 90) -> list[records.Body]:
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
    version = int(value["metadata"]["resourceVersion"])
    return language.observation(resource, version, value, kind, ts_ns=0)


def differences(seen: list[records.Body], told: list[dict[str, Any]]) -> list[str]:
    return [item.text for item in compare(seen, told).differences]


def pod_differences(life: Life, log: list[dict[str, Any]]) -> list[str]:
    """The differences between the life of a pod, as the watch saw it, and its log."""
    return differences(watch(PODS, life), log)


def claim_differences(life: Life, log: list[dict[str, Any]]) -> list[str]:
    return differences(watch(CLAIMS, life), log)


def compare(seen: list[records.Body], told: list[dict[str, Any]]) -> comparing.Comparison:
    events = (audit_events.decode(audit_logs.line(event)) for event in told)
    audited = audit_history.fold(events, namespace=language.NAMESPACE)
    watched = watched_writes.WatchedWrites()
    folded = hold_history.fold(seen, watched)
    holds = [(hold.uid, hold.device, hold.from_rv, hold.until_rv) for hold in folded.holds]
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


def changed(
    life: Life, index: int, part: str, value: dict[str, Any], *, later: bool = False
) -> Life:
    found = copy.deepcopy(life)
    for _, item in found[index:] if later else found[index : index + 1]:
        item[part] |= value
    return found
