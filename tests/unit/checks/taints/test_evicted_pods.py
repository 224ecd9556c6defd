"""Pods that stay on tainted devices, and pods that are evicted without a reason."""

import math
import os
import random
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts
from harness.checks.observed import folders
from harness.checks.taints import device_uses, evicted_pods
from harness.history import records
from tests.histories import building
from tests.unit.checks.taints import taint_events

Object = dict[str, Any]
INVALID, VALID, UNKNOWN = taint_events.INVALID, taint_events.VALID, taint_events.UNKNOWN
CLEAN, TAINTED = taint_events.device("d"), taint_events.device("d", "NoExecute")
piece, rule = taint_events.piece, taint_events.rule
FOR_EVER = {"operator": "Exists"}
FIVE_S = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
LATE = int(evicted_pods.IN_TIME_S)
HISTORIES = int(os.environ.get("FLAKE_HUNT_HISTORIES", "3000"))


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
        status["conditions"] = [{**condition, "reason": device_uses.EVICTED}]
    obj = {"metadata": meta, "spec": {"nodeName": node}, "status": status}
    return taint_events.observed("pods", second, obj)


def claim(second: int, *tolerations: Object, used: bool = True) -> Any:
    row = {"request": "r", "driver": taint_events.DRIVER, "pool": "p", "device": "d"}
    row |= {"tolerations": list(tolerations)} if tolerations else {}
    status: Object = {"allocation": {"devices": {"results": [row]}}}
    if used:
        status["reservedFor"] = [{"resource": "pods", "name": "p", "uid": "p"}]
    obj = {"metadata": {"name": "c", "namespace": "n", "uid": "c"}, "spec": {}, "status": status}
    return taint_events.observed("resourceclaims", second, obj)


def judge(*body: Any, end: int = 60) -> verdicts.Answer:
    uses = device_uses.DeviceUses()
    timed = [
        msgspec.structs.replace(item, ts_ns=item.resource_version * 1_000_000_000) for item in body
    ]
    folders.fold(timed, uses)
    uses.end_ns = end * 1_000_000_000
    return evicted_pods.check(uses, has_gaps=False)


BEGUN = [piece(1, CLEAN), claim(2), pod(3)]
CASES: dict[str, tuple[Sequence[records.Body], str]] = {
    "stays": ([*BEGUN, piece(10, TAINTED)], "VIOLATED"),
    "stays too long": ([*BEGUN, piece(10, TAINTED), pod(10 + LATE + 1, deleted=True)], "VIOLATED"),
    "stays on a device that a rule taints": ([*BEGUN, rule(10, {}, "NoExecute")], "VIOLATED"),
    "was tainted before": ([piece(1, TAINTED), claim(2), pod(3)], "VIOLATED"),
    "gone in time": ([*BEGUN, piece(10, TAINTED), pod(12, deleted=True)], "NOTHING"),
    "evicted": ([*BEGUN, piece(10, TAINTED), pod(11, evicted=True, deleted=True)], "VALID"),
    "evicted by a rule": (
        [*BEGUN, rule(10, {}, "NoExecute"), pod(11, evicted=True, deleted=True)],
        "VALID",
    ),
    "evicted without a taint": ([*BEGUN, pod(11, evicted=True, deleted=True)], "VIOLATED"),
    "evicted by another effect": (
        [*BEGUN, piece(10, taint_events.device("d", "NoSchedule")), pod(11, evicted=True)],
        "VIOLATED",
    ),
    "evicted by another device": (
        [*BEGUN, piece(10, taint_events.device("e", "NoExecute")), pod(11, evicted=True)],
        "VIOLATED",
    ),
    "evicted long after the taint": (
        [*BEGUN, piece(4, TAINTED), piece(5, CLEAN), pod(9, evicted=True, deleted=True)],
        "VIOLATED",
    ),
    "tolerates it": ([piece(1, CLEAN), claim(2, FOR_EVER), pod(3), piece(10, TAINTED)], "VALID"),
    "evicted although it tolerates it": (
        [piece(1, CLEAN), claim(2, FOR_EVER), pod(3), piece(10, TAINTED), pod(11, evicted=True)],
        "VIOLATED",
    ),
    "tolerates it for some seconds": (
        [
            piece(1, CLEAN),
            claim(2, FIVE_S),
            pod(3),
            piece(10, TAINTED),
            pod(16, evicted=True, deleted=True),
        ],
        "VALID",
    ),
    "evicted before these have passed": (
        [
            piece(1, CLEAN),
            claim(2, FIVE_S),
            pod(3),
            piece(10, TAINTED),
            pod(11, evicted=True, deleted=True),
        ],
        "VIOLATED",
    ),
    "stays after these have passed": (
        [piece(1, CLEAN), claim(2, FIVE_S), pod(3), piece(10, TAINTED)],
        "VIOLATED",
    ),
    "tolerates another key": (
        [piece(1, CLEAN), claim(2, {**FOR_EVER, "key": "x"}), pod(3), piece(10, TAINTED)],
        "VIOLATED",
    ),
    "tolerates another effect": (
        [
            piece(1, CLEAN),
            claim(2, {**FOR_EVER, "effect": "NoSchedule"}),
            pod(3),
            piece(9, TAINTED),
        ],
        "VIOLATED",
    ),
    "tolerates another value": (
        [piece(1, CLEAN), claim(2, {"key": "k", "value": "x"}), pod(3), piece(10, TAINTED)],
        "VIOLATED",
    ),
    "the taint goes": ([*BEGUN, piece(10, TAINTED), piece(15, CLEAN)], "NOTHING"),
    "the rule goes": (
        [*BEGUN, rule(10, {}, "NoExecute"), rule(15, {}, "NoExecute", gone=True)],
        "NOTHING",
    ),
    "the claim is freed": ([*BEGUN, piece(10, TAINTED), claim(15, used=False)], "NOTHING"),
    "never bound": ([piece(1, CLEAN), claim(2), pod(3, node=""), piece(10, TAINTED)], "NOTHING"),
}


@pytest.mark.parametrize(("body", "expected"), CASES.values(), ids=CASES)
def test_a_pod_is_gone_in_time_and_only_with_a_reason(
    body: Sequence[records.Body], expected: str
) -> None:
    found = judge(*body)
    if expected == "NOTHING":
        assert isinstance(found, verdicts.NotExamined)
    else:
        assert isinstance(found, verdicts.CheckResult)
        assert found.verdict is (INVALID if expected == "VIOLATED" else VALID)
        assert found.examined_count == 1


@pytest.mark.parametrize(
    ("toleration", "is_known"),
    [(FOR_EVER, True), ({**FOR_EVER, "effect": "NoExecute"}, False), (FIVE_S, False)],
)
def test_a_wrong_eviction_names_who_has_evicted_and_the_known_finding(
    toleration: Object, is_known: bool
) -> None:
    evicted = pod(11, evicted=True, deleted=True, by="kube-controller-manager")
    found = judge(piece(1, CLEAN), claim(2, toleration), pod(3), piece(10, TAINTED), evicted)
    assert isinstance(found, verdicts.CheckResult)
    (violation,) = found.violations
    assert "was evicted by kube-controller-manager" in violation.text
    assert ("H23" in violation.summary) is is_known
    assert violation.resource_versions == [11]


def test_a_gap_leaves_it_open() -> None:
    found = evicted_pods.check(device_uses.DeviceUses(), has_gaps=True)
    assert isinstance(found, verdicts.CheckResult)
    assert found.verdict is UNKNOWN


@pytest.mark.parametrize(
    ("settings", "applies"),
    [
        ({"pools": {"changes": [{"kind": "taint", "effect": "NoExecute"}]}}, True),
        ({"pools": {"more": [{"taints": [{"key": "k", "effect": "NoExecute"}]}]}}, True),
        ({"pools": {"changes": [{"kind": "taint", "effect": "NoSchedule"}]}}, False),
        ({"pools": {"changes": [{"kind": "flap"}]}}, False),
        ({"pools": {"imported": {"has": ["shares", "taints"]}}}, True),
        ({"pools": {"imported": {"has": ["shares"]}}}, False),
    ],
)
def test_it_is_owed_where_devices_get_the_taint(settings: Object, applies: bool) -> None:
    for controller, is_known in (("python", True), ("cluster", True), ("external", False)):
        subject = {"subject": {"claim_controller": controller}}
        plan = msgspec.structs.replace(
            building.plan(settings=settings | subject), resources=["resourceslices"]
        )
        assert evicted_pods.applies(plan) is (applies and is_known)


def test_drawn_histories_are_judged_as_second_by_second() -> None:
    """One pod, one device, a taint that comes and goes; time goes on in whole seconds."""
    counts = {True: 0, False: 0}
    for seed in range(HISTORIES):
        drawn = random.Random(seed)
        is_tainted = [False]
        body: list[Any] = [piece(1, CLEAN)]
        for second in range(4, 60):
            changes = drawn.random() < 0.06
            is_tainted.append(is_tainted[-1] != changes)
            if changes:
                body.append(piece(second, TAINTED if is_tainted[-1] else CLEAN))
        bound, deleted = drawn.randint(2, 30), drawn.choice([None, drawn.randint(31, 59)])
        seconds = drawn.choice([None, 0, 5, math.inf])
        tolerated = [{**FIVE_S, "tolerationSeconds": seconds}] if seconds is not None else []
        tolerated = [FOR_EVER] if seconds == math.inf else tolerated
        body += [claim(2, *tolerated), pod(bound)]
        body += [pod(deleted, deleted=True)] if deleted else []
        found = judge(*sorted(body, key=lambda item: item.resource_version), end=59)
        is_late = _is_late(is_tainted, bound, deleted or 59, seconds or 0)
        counts[is_late] += 1
        assert (_verdict(found) is INVALID) is is_late, seed
    assert min(counts.values()) > HISTORIES // 20


def _is_late(is_tainted: Sequence[bool], bound: int, end: int, seconds: float) -> bool:
    """The pod was there in a second in which it had to be gone; `is_tainted` begins at second 3."""
    since = None
    for second in range(4, end):
        tainted = is_tainted[second - 3]
        since = (second if since is None else since) if tainted else None
        if since is not None and second >= max(since + seconds, bound) + LATE:
            return True
    return False


def _verdict(found: verdicts.Answer) -> verdicts.Verdict:
    return found.verdict if isinstance(found, verdicts.CheckResult) else UNKNOWN
