"""Pods and claims as the claim controller writes them, and what its check says of them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from harness.checks import verdicts
from harness.checks.claim_control import controller_history, controller_records
from harness.checks.observed import folders
from harness.history import records

SPACE, POD = "tests", "uid-pod"


def _observation(
    resource: str, version: int, obj: dict[str, Any], kind: str = "MODIFIED"
) -> records.Observation:
    return records.Observation(
        resource=resource,
        type=kind,  # type: ignore[arg-type]
        resource_version=version,
        ts_ns=version,
        object=msgspec.Raw(json.dumps(obj).encode()),
    )


def pod(version: int, *, phase: str = "Running", **recorded: str | None) -> records.Observation:
    """A version of the pod with these entries recorded."""
    statuses = [
        {"name": name} | ({"resourceClaimName": claim} if claim else {})
        for name, claim in recorded.items()
    ]
    meta = {"name": "pod", "namespace": SPACE, "uid": POD, "resourceVersion": str(version)}
    return _observation(
        "pods",
        version,
        {"metadata": meta, "status": {"phase": phase, "resourceClaimStatuses": statuses}},
    )


def claim(
    version: int,
    name: str,
    *,
    entry: str = "device",
    reserved: Sequence[str] = (),
    deleting: bool = False,
    controlled: bool | None = True,
    kind: str = "MODIFIED",
) -> records.Observation:
    """A version of a claim that was generated for the pod.

    `controlled`: whether the pod is its controller or only an owner; None: it has no owner.
    """
    meta: dict[str, Any] = {
        "name": name,
        "namespace": SPACE,
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
        "annotations": {"resource.kubernetes.io/pod-claim-name": entry},
        "ownerReferences": [{"kind": "Pod", "name": "pod", "uid": POD, "controller": controlled}],
    }
    if controlled is None:
        del meta["ownerReferences"]
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    users = [{"resource": "pods", "name": uid, "uid": uid} for uid in reserved]
    status = {"reservedFor": users}
    return _observation("resourceclaims", version, {"metadata": meta, "status": status}, kind)


def judge(observed: Iterable[records.Observation]) -> verdicts.CheckResult:
    history = controller_history.ControllerHistory()
    folders.fold(observed, history)
    return controller_records.check(history)
