"""Claims of PodGroups: reservations for groups, claims that are made for them, and pods in use."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import plain_answers, protocol, verdicts
from harness.checks.claims import claims_in_use, generated_claims, reservations
from harness.checks.pods import bound_pods
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


def _judge(check: protocol.Check) -> Judge:
    def judge(body: Sequence[records.Body]) -> verdicts.Answer:
        evidence = claim_judging.evidence([*_lists(), *body], [check])
        return plain_answers.judged(check, evidence)

    return judge


_generated = _judge(generated_claims.CHECK)
_reservations = _judge(reservations.CHECK)
_in_use = _judge(claims_in_use.CHECK)


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


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        (GOOD[:5], verdicts.Verdict.VALID),
        ([*GOOD[:3], *GOOD[4:5]], verdicts.Verdict.INVALID),
    ],
)
def test_a_reservation_for_the_group_is_one_for_its_pods(
    body: list[records.Body], verdict: verdicts.Verdict
) -> None:
    plan = msgspec.structs.replace(
        claim_judging.plan(), resources=["pods", "resourceclaims", "nodes"]
    )
    check = bound_pods.CHECK
    answer = check.judge(claim_judging.evidence([*_lists(), *body], [check], of=plan))
    assert isinstance(answer, verdicts.CheckResult)
    assert answer.verdict is verdict
