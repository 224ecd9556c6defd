"""Pods that stay on tainted devices, and pods that are evicted without a reason."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.devices import device_timelines, tainted_devices
from harness.checks.observed import pod_lives
from tests.histories import claim_judging, judged_runs, language, placements
from tests.support import text_tables
from tests.unit.checks.devices import taint_events

Object = dict[str, Any]
INVALID, VALID, UNKNOWN = taint_events.INVALID, taint_events.VALID, taint_events.UNKNOWN
CLEAN, TAINTED = taint_events.device("d"), taint_events.device("d", "NoExecute")
piece, rule = taint_events.piece, taint_events.rule
FOR_EVER = {"operator": "Exists"}
FIVE_S = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
LATE = int(tainted_devices.IN_TIME_S)


def pod(
    second: int, *, evicted: bool = False, deleted: bool = False, node: str = "n", by: str = ""
) -> Any:
    meta: Object = {"name": "p", "namespace": "n", "uid": "p"}
    if by:
        owned = {"f:status": {"f:conditions": {'k:{"type":"DisruptionTarget"}': {}}}}
        other = {"f:status": {"f:conditions": {'k:{"type":"Ready"}': {}}}}
        meta["managedFields"] = [
            {"manager": "kubelet", "operation": "Update", "fieldsV1": other},
            {"manager": by, "operation": "Update", "fieldsV1": owned},
        ]
    if deleted:
        meta["deletionTimestamp"] = "2026-01-31T00:00:00Z"
    status: Object = {}
    if evicted:
        condition = {"type": "DisruptionTarget", "status": "True"}
        status["conditions"] = [{**condition, "reason": pod_lives.EVICTED}]
    obj = {"kind": "Pod", "metadata": meta, "spec": {"nodeName": node}, "status": status}
    return taint_events.observed(second, placements.Event(obj))


def claim(second: int, *tolerations: Object, used: bool = True) -> Any:
    more = {"tolerations": list(tolerations)} if tolerations else {}
    row = placements.result("d", pool=taint_events.POOL, **more)
    return taint_events.observed(second, placements.claim("c", row, users=["p"] if used else []))


def judge(*body: Any, end: int = 60) -> verdicts.Answer:
    timed = [
        msgspec.structs.replace(item, ts_ns=item.resource_version * 1_000_000_000) for item in body
    ]
    check = tainted_devices.EVICTED_PODS
    evidence = claim_judging.evidence(timed, [check])
    evidence[device_timelines.TaintTimelines].end_ns = end * 1_000_000_000
    return tainted_devices._judge_evictions(evidence)


WORDS: dict[str, Callable[[int], Any]] = {
    "clean": lambda at: piece(at, CLEAN),
    "tainted": lambda at: piece(at, TAINTED),
    "another-effect": lambda at: piece(at, taint_events.device("d", "NoSchedule")),
    "another-device": lambda at: piece(at, taint_events.device("e", "NoExecute")),
    "beside": lambda at: piece(at, uid="t"),
    "newer": lambda at: piece(at, uid="t", generation=2),
    "rule": lambda at: rule(at, {}, "NoExecute"),
    "rule-goes": lambda at: rule(at, {}, "NoExecute", gone=True),
    "claim": claim,
    "freed": lambda at: claim(at, used=False),
    "for-ever": lambda at: claim(at, FOR_EVER),
    "five-seconds": lambda at: claim(at, FIVE_S),
    "both": lambda at: claim(at, FIVE_S, FOR_EVER),
    "for-another-key": lambda at: claim(at, {**FOR_EVER, "key": "x"}),
    "for-another-effect": lambda at: claim(at, {**FOR_EVER, "effect": "NoSchedule"}),
    "for-another-value": lambda at: claim(at, {"key": "k", "value": "x"}),
    "pod": pod,
    "unbound": lambda at: pod(at, node=""),
    "deleted": lambda at: pod(at, deleted=True),
    "evicted": lambda at: pod(at, evicted=True),
    "evicted-deleted": lambda at: pod(at, evicted=True, deleted=True),
}


@pytest.mark.parametrize(("text", "expected"), text_tables.cases(__file__, "evicted_cases.txt"))
def test_a_pod_is_gone_in_time_and_only_with_a_reason(
    text: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tainted_devices, "EARLY_S", 3.0)
    found = judge(*taint_events.history(text.replace("LATE", str(10 + LATE + 1)), WORDS))
    if expected == "NOTHING":
        assert isinstance(found, verdicts.NotExamined)
    else:
        assert isinstance(found, verdicts.CheckResult)
        assert found.verdict is (INVALID if expected == "VIOLATED" else VALID)
        assert found.examined_count == 1


@pytest.mark.parametrize(
    ("toleration", "told"),
    [
        (FOR_EVER, "H23"),
        ({**FOR_EVER, "effect": "NoExecute"}, "no NoExecute taint"),
        (FIVE_S, "4.0 s before its time"),
    ],
)
def test_a_wrong_eviction_names_who_has_evicted_and_the_known_finding(
    toleration: Object, told: str
) -> None:
    evicted = pod(11, evicted=True, deleted=True, by="kube-controller-manager")
    found = judged_runs.examined(
        judge(piece(1, CLEAN), claim(2, toleration), pod(3), piece(10, TAINTED), evicted)
    )
    (violation,) = found.violations
    assert "was evicted by kube-controller-manager" in violation.text
    assert told in violation.summary
    assert ("H23" in violation.summary) is (told == "H23")
    assert violation.resource_versions == [11]


def test_the_longest_time_is_told_that_a_pod_has_stayed() -> None:
    taints = [piece(10, TAINTED), piece(25, CLEAN), piece(30, TAINTED)]
    found = judged_runs.examined(judge(piece(1, CLEAN), claim(2), pod(3), *taints))
    (violation,) = found.violations
    assert "used gpu.example/p/d for 30.0 s after its taint k:NoExecute" in violation.summary
    assert [item.name for item in violation.objects] == ["p", "c"]


def test_a_gap_leaves_it_open() -> None:
    gap = language.gap("pods", 1, 0)
    check = tainted_devices.EVICTED_PODS
    found = judged_runs.examined(check.judge(claim_judging.evidence([gap], [check])))
    assert found.verdict is UNKNOWN
