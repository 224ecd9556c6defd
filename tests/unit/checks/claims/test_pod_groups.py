"""Claims of PodGroups: reservations for groups, claims that are made for them, and pods in use."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.checks import verdicts
from harness.checks.claims import (
    claim_lives,
    claims_in_use,
    generated_claims,
    group_lives,
    pod_lives,
    reservations,
    template_copies,
)
from harness.checks.faults import fault_records
from harness.checks.observed import folders
from harness.checks.pods import pod_bindings
from harness.history import records
from tests.histories import claim_judging, language

Object = dict[str, Any]
Judge = Callable[[Sequence[records.Body]], verdicts.Answer]
SHARED = {"name": "gpu", "resourceClaimTemplateName": "t"}
ALLOCATION = {"devices": {"results": [{"driver": "d", "pool": "p", "device": "x"}]}}
FOR_GROUP = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "g"}


def _seen(resource: str, version: int, obj: Object, kind: Any = "MODIFIED") -> records.Observation:
    name = obj["metadata"]["name"]
    meta = {"namespace": "n", "uid": name, "resourceVersion": str(version), **obj["metadata"]}
    return language.observation(resource, version, {**obj, "metadata": meta}, kind)


def group(version: int, kind: Any = "ADDED", *, name: str = "g") -> records.Body:
    spec = {"resourceClaims": [SHARED]}
    return _seen("podgroups", version, {"metadata": {"name": name}, "spec": spec}, kind)


def pod(version: int, *, node: str = "", claim: str = "c", kind: Any = "MODIFIED") -> records.Body:
    spec: Object = {"schedulingGroup": {"podGroupName": "g"}, "resourceClaims": [SHARED]}
    status = {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": claim}]}
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


def _lists() -> list[records.Body]:
    return [
        records.Listed(resource=name, purpose="first", resource_version=1, count=0, ts_ns=0)
        for name in ("resourceclaims", "pods", "podgroups")
    ]


def _fold(body: Sequence[records.Body], *seers: folders.Folder) -> None:
    folders.fold([*_lists(), *body], *seers)


def _generated(body: Sequence[records.Body]) -> verdicts.Answer:
    lives, pods, groups = claim_lives.ClaimLives(), pod_lives.PodLives(), group_lives.GroupLives()
    copies = template_copies.TemplateCopies()
    _fold(body, lives, pods, groups, copies)
    faults = fault_records.FaultRecords(planned=(), applications=())
    return generated_claims.check(lives, pods, claim_judging.plan(), faults, copies, groups)


def _reservations(body: Sequence[records.Body]) -> verdicts.Answer:
    lives, pods, groups = claim_lives.ClaimLives(), pod_lives.PodLives(), group_lives.GroupLives()
    _fold(body, lives, pods, groups)
    return reservations.check(lives, pods, groups)


def _in_use(body: Sequence[records.Body]) -> verdicts.Answer:
    lives, pods = claim_lives.ClaimLives(), pod_lives.PodLives()
    _fold(body, lives, pods)
    return claims_in_use.check(lives, pods)


GOOD = [
    group(2),
    claim(3, kind="ADDED"),
    pod(4, kind="ADDED"),
    claim(5, FOR_GROUP),
    pod(6, node="w"),
    pod(7, node="w", kind="DELETED"),
    claim(8),
    group(9, "DELETED"),
    claim(10),
]


@pytest.mark.parametrize("judge", [_generated, _reservations, _in_use])
def test_the_life_of_a_group(judge: Judge) -> None:
    answer = judge(GOOD)
    assert isinstance(answer, verdicts.CheckResult)
    assert answer.verdict is verdicts.Verdict.VALID


@pytest.mark.parametrize(
    ("judge", "body", "summary"),
    [
        (
            _generated,
            [group(2), claim(3, owner="Pod", kind="ADDED"), pod(4, kind="ADDED"), claim(5)],
            "pod p names a claim for gpu that is not its own",
        ),
        (
            _generated,
            [group(2), claim(3, kind="ADDED"), claim(4, name="d", kind="ADDED")],
            "pod g has a second claim for gpu",
        ),
        (
            _reservations,
            [group(2, name="h"), claim(3, kind="ADDED"), claim(5, FOR_GROUP)],
            "claim c was reserved for a PodGroup that never existed",
        ),
        (
            _in_use,
            [*GOOD[:5], claim(7), pod(8, node="w", kind="DELETED")],
            "claim c was deallocated while pod p used it",
        ),
    ],
)
def test_what_is_wrong(judge: Judge, body: list[records.Body], summary: str) -> None:
    answer = judge(body)
    assert isinstance(answer, verdicts.CheckResult)
    assert answer.verdict is verdicts.Verdict.INVALID
    assert [item.summary for item in answer.violations] == [summary]


def test_a_gap_in_the_groups_is_doubt() -> None:
    gap = records.Gap(resource="podgroups", after_resource_version=3, reason="", ts_ns=3)
    answer = _reservations([group(2, name="h"), gap, claim(4, kind="ADDED"), claim(5, FOR_GROUP)])
    assert isinstance(answer, verdicts.CheckResult)
    assert answer.verdict is verdicts.Verdict.VALID


@pytest.mark.parametrize(("body", "count"), [(GOOD[:5], 1), ([*GOOD[:3], *GOOD[4:5]], 0)])
def test_a_reservation_for_the_group_is_one_for_its_pods(
    body: list[records.Body], count: int
) -> None:
    bound = pod_bindings.PodBindings()
    _fold(body, bound)
    [binding] = bound.bindings
    assert len(list(bound.reservations(binding, "c"))) == count
