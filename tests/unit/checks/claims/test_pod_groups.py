"""Claims of PodGroups: reservations for groups, claims that are made for them, and pods in use."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import check_registry, findings, verdicts
from harness.history import records
from tests.histories import claim_judging, language

VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
CHECKS = {check.name: check for check in check_registry.CHECKS}
Object = dict[str, Any]
SHARED = {"name": "gpu", "resourceClaimTemplateName": "t"}
ALLOCATION = {"devices": {"results": [{"driver": "d", "pool": "p", "device": "x"}]}}
FOR_GROUP = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "g"}


def _seen(resource: str, version: int, obj: Object, kind: Any) -> records.Observation:
    name = obj["metadata"]["name"]
    meta = {"namespace": "n", "uid": name, "resourceVersion": str(version), **obj["metadata"]}
    return language.observation(resource, version, {**obj, "metadata": meta}, kind)


def group(version: int, kind: Any = "ADDED", *, name: str = "g") -> records.Body:
    spec = {"resourceClaims": [SHARED]}
    return _seen("podgroups", version, {"metadata": {"name": name}, "spec": spec}, kind)


def pod(version: int, *, node: str = "", kind: Any = "MODIFIED") -> records.Body:
    spec: Object = {"schedulingGroup": {"podGroupName": "g"}, "resourceClaims": [SHARED]}
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}
    spec |= {"nodeName": node} if node else {}
    return _seen("pods", version, {"metadata": {"name": "p"}, "spec": spec, "status": status}, kind)


def claim(
    version: int, *users: Object, owner: str = "PodGroup", name: str = "c", kind: Any = "MODIFIED"
) -> records.Body:
    uid = "g" if owner == "PodGroup" else "p"
    meta = {
        "name": name,
        "annotations": {"resource.kubernetes.io/pod-claim-name": "gpu"},
        "ownerReferences": [{"kind": owner, "name": uid, "uid": uid, "controller": True}],
    }
    status: Object = {"allocation": ALLOCATION, "reservedFor": users} if users else {}
    return _seen("resourceclaims", version, {"metadata": meta, "status": status}, kind)


def found(name: str, body: Sequence[records.Body]) -> list[str]:
    """The summaries of what the check finds."""
    plan = msgspec.structs.replace(
        claim_judging.plan(), resources=["pods", "resourceclaims", "nodes"]
    )
    lists = [
        records.Listed(resource=resource, purpose="first", resource_version=1, count=0, ts_ns=0)
        for resource in ("resourceclaims", "pods", "podgroups")
    ]
    evidence = claim_judging.evidence([*lists, *body], [CHECKS[name]], of=plan)
    answer = findings.asked(CHECKS[name], evidence)
    assert isinstance(answer, verdicts.CheckResult)
    assert answer.verdict is (INVALID if answer.violations else VALID)
    return [item.summary for item in answer.violations]


GROUP, NEW, POD, RESERVED = (
    group(2),
    claim(3, kind="ADDED"),
    pod(4, kind="ADDED"),
    claim(5, FOR_GROUP),
)
RUNNING = [GROUP, NEW, POD, RESERVED, pod(6, node="w")]
GOOD = [*RUNNING, pod(7, node="w", kind="DELETED"), claim(8), group(9, "DELETED"), claim(10)]
OF_POD = claim(3, owner="Pod", kind="ADDED")
OTHERS = [group(2, name="h"), NEW, RESERVED]
GAP = records.Gap(resource="podgroups", after_resource_version=3, reason="", ts_ns=3)


@pytest.mark.parametrize(
    ("check", "body", "summary"),
    [
        ("generated_claims", GOOD, ""),
        ("claim_reservations", GOOD, ""),
        ("claims_in_use", GOOD, ""),
        ("bound_pods", RUNNING, ""),
        ("generated_claims", [GROUP, OF_POD, POD, claim(5)], "pod p names a claim for gpu that"),
        ("generated_claims", [GROUP, NEW, claim(4, name="d", kind="ADDED")], "pod g has a second"),
        ("claim_reservations", OTHERS, "claim c was reserved for a PodGroup that never existed"),
        ("claim_reservations", [OTHERS[0], GAP, *OTHERS[1:]], ""),
        (
            "claims_in_use",
            [*RUNNING, claim(7), pod(8, node="w", kind="DELETED")],
            "claim c was deallocated while pod p used",
        ),
        ("bound_pods", [GROUP, NEW, POD, RUNNING[-1]], "pod p: claim c was not allocated and"),
    ],
)
def test_the_life_of_a_group(check: str, body: list[records.Body], summary: str) -> None:
    """A reservation for the group is one for its pods."""
    summaries = found(check, body)
    assert len(summaries) == bool(summary)
    assert all(item.startswith(summary) for item in summaries)
