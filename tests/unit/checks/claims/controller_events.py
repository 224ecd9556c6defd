"""Pods and claims as the claim controller writes them, and what its check says of them."""

from collections.abc import Iterable, Sequence
from typing import Any

from harness.checks import verdicts
from harness.checks.claims import controller_records
from harness.history import records
from tests.histories import building, claim_judging, language

SPACE, POD = "tests", "uid-pod"


def pod(
    version: int, *, phase: str = "Running", uid: str = POD, node: str = "", **recorded: str | None
) -> records.Observation:
    statuses = [
        {"name": name} | ({"resourceClaimName": claim} if claim else {})
        for name, claim in recorded.items()
    ]
    meta = {
        "name": "pod",
        "namespace": SPACE,
        "uid": uid,
        "resourceVersion": str(version),
        "managedFields": _managed("recorder", "status", "resourceClaimStatuses"),
    }
    status = {"phase": phase, "resourceClaimStatuses": statuses}
    return language.observation(
        "pods", version, {"metadata": meta, "spec": {"nodeName": node}, "status": status}
    )


def _managed(manager: str, *path: str) -> list[dict[str, Any]]:
    owned: dict[str, Any] = {}
    for name in reversed(path):
        owned = {f"f:{name}": owned}
    return [{"manager": manager, "operation": "Update", "fieldsV1": owned}]


def claim(
    version: int,
    name: str,
    *,
    entry: str = "device",
    reserved: Sequence[str] = (),
    deleting: bool = False,
    controlled: bool | None = True,
    kind: str = "MODIFIED",
    owner: str = POD,
    finalized: bool = False,
) -> records.Observation:
    """A version of a claim that was generated for the pod; `finalized`: it is allocated, too.

    `controlled`: whether the pod is its controller or only an owner; None: it has no owner.
    """
    meta: dict[str, Any] = {
        "name": name,
        "namespace": SPACE,
        "uid": f"uid-{name}",
        "resourceVersion": str(version),
        "annotations": {"resource.kubernetes.io/pod-claim-name": entry},
        "ownerReferences": [{"kind": "Pod", "name": "pod", "uid": owner, "controller": controlled}],
        "managedFields": _managed("creator", "spec"),
    }
    if controlled is None:
        del meta["ownerReferences"]
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    users = [{"resource": "pods", "name": uid, "uid": uid} for uid in reserved]
    status: dict[str, Any] = {"reservedFor": users}
    if finalized:
        meta["finalizers"] = ["resource.kubernetes.io/delete-protection"]
        status["allocation"] = {}
    return language.observation(
        "resourceclaims", version, {"metadata": meta, "status": status}, kind
    )


def judge(
    observed: Iterable[records.Observation], *, undisturbed: bool = False
) -> verdicts.CheckResult:
    check = controller_records.CHECK
    faults = [] if undisturbed else [building.fault("lose-response")]
    plan = claim_judging.plan(faults)
    answer = check.judge(claim_judging.evidence(observed, [check], of=plan))
    assert isinstance(answer, verdicts.CheckResult)
    return answer
