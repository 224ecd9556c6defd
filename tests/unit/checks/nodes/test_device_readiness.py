"""Pods and the readiness of their devices: compared by the order of the recorded objects."""

from typing import Any

import pytest

from harness.checks import verdicts
from harness.checks.nodes import device_readiness
from harness.history import records
from tests.histories import building, claim_judging, language

Object = dict[str, Any]
VALID, UNKNOWN, INVALID = verdicts.Verdict
DEVICE = {"driver": "d.example", "pool": "fabric", "device": "a"}
CONDITIONS = {"bindingConditions": ["attached"], "bindingFailureConditions": ["broken"]}


def claim(
    version: int,
    *true: str,
    conditions: Object = CONDITIONS,
    allocated: bool = True,
    kind: str = "MODIFIED",
) -> records.Observation:
    status: Object = {}
    if allocated:
        status["allocation"] = {"devices": {"results": [{**DEVICE, **conditions}]}}
        if true:
            reported = [{"type": name, "status": "True"} for name in true]
            status["devices"] = [{**DEVICE, "conditions": reported}]
    meta = {"name": "c", "namespace": "tests", "uid": "uid-of-c", "resourceVersion": "1"}
    return language.observation(
        "resourceclaims", version, {"metadata": meta, "status": status}, kind
    )


def pod(version: int, *, node: str = "worker-0", generated: bool = False) -> records.Observation:
    entry = {"name": "entry", **({} if generated else {"resourceClaimName": "c"})}
    statuses = [{"name": "entry", "resourceClaimName": "c"}] if generated else []
    document = {
        "metadata": {"name": "p", "namespace": "tests", "uid": "uid-of-p", "resourceVersion": "1"},
        "spec": {"resourceClaims": [entry], **({"nodeName": node} if node else {})},
        "status": {"resourceClaimStatuses": statuses},
    }
    return language.observation("pods", version, document, "MODIFIED")


def checked(*observations: records.Observation) -> verdicts.CheckResult:
    answer = judged({"more": [{"binding_conditions": ["attached"]}]}, *observations)
    assert isinstance(answer, verdicts.CheckResult)
    return answer


def judged(pools: Object, *observations: records.Observation) -> verdicts.Answer:
    plan, check = building.plan(settings={"pools": pools}), device_readiness.CHECK
    return device_readiness.judge(claim_judging.evidence(observations, [check], of=plan))


@pytest.mark.parametrize("generated", [False, True])
def test_a_pod_that_is_bound_when_its_device_is_ready(generated: bool) -> None:
    found = checked(
        claim(1),
        claim(3, "attached"),
        pod(2, node="", generated=generated),
        pod(4, generated=generated),
    )
    assert (found.verdict, found.examined_count, found.violation_count) == (VALID, 1, 0)


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        ([claim(1), claim(5, "attached")], "attached of d.example/fabric/a was not true"),
        ([claim(1, "attached", "broken")], "broken of d.example/fabric/a was true"),
        ([claim(1, "other")], "attached of d.example/fabric/a was not true"),
        ([claim(1, "attached"), claim(2)], "resourceVersion 2: attached"),
    ],
)
def test_a_pod_that_is_bound_too_early(versions: list[records.Observation], words: str) -> None:
    """Pods and claims come by different watches: only resourceVersions tell their order."""
    found = checked(*versions, pod(4), pod(6))
    assert (found.verdict, found.violation_count) == (INVALID, 1)
    assert words in found.violations[0].text
    assert "bound to worker-0 at resourceVersion 4" in found.violations[0].text
    assert found.reason.startswith("pod p was bound before its devices were ready")


def test_the_final_list_hides_nothing() -> None:
    """It repeats the newest version of a claim that is still there."""
    found = checked(claim(1), pod(4), claim(1, kind="FINAL"))
    assert (found.verdict, found.examined_count, found.violation_count) == (INVALID, 1, 1)


@pytest.mark.parametrize(
    "version",
    [
        claim(1, conditions={}),
        claim(1, allocated=False),
        claim(1, kind="DELETED"),
        claim(9),
    ],
)
def test_without_conditions_nothing_is_examined(version: records.Observation) -> None:
    found = checked(version, pod(4))
    assert (found.verdict, found.examined_count) == (UNKNOWN, 0)


def test_the_check_is_owed_by_runs_with_such_devices() -> None:
    more = [{"name": "fabric", "binding_conditions": ["attached"]}]
    assert device_readiness.applies(building.plan(settings={"pools": {"more": more}}))
    assert not device_readiness.applies(
        building.plan(settings={"pools": {"more": [{"name": "fabric"}]}})
    )
    assert not device_readiness.applies(building.plan(settings={}))


def test_devices_of_files_need_not_be_used() -> None:
    imported = {"imported": {"has": ["binding-conditions"]}}
    assert device_readiness.applies(building.plan(settings={"pools": imported}))
    assert isinstance(judged(imported), verdicts.NotExamined)
    found = judged(imported, claim(1), pod(4))
    assert isinstance(found, verdicts.CheckResult)
    assert found.verdict is INVALID
