"""Double allocations by several schedulers are told apart from those by one of them alone."""

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

from harness.checks import device_exclusivity, protocol, scheduler_attribution, verdicts
from harness.checks.holds import hold_history
from harness.history import plans, records
from tests.histories import building, language
from tests.support import text_tables

A, B = "flake-hunt-scheduler", "flake-hunt-scheduler-2"


def _plan(*names: str) -> plans.Plan:
    subject = {"schedulers": [{"kind": "python", "scheduler_name": name} for name in names]}
    return building.plan(settings={"subject": subject})


def _schedulers(
    folded: hold_history.HoldHistory,
    managers: Mapping[str, str],
    writers: scheduler_attribution.AllocationWriters,
) -> scheduler_attribution.AllocationWriters:
    """The writers, with the schedulers of the claims by the first letters of their names."""
    for hold in folded.holds:
        writers.by_allocation[hold.uid, hold.from_rv] = scheduler_attribution.AllocationWriter(
            manager=managers[hold.name[0]], pods=()
        )
    return writers


def _writers() -> scheduler_attribution.AllocationWriters:
    return scheduler_attribution.AllocationWriters(
        scheduler_attribution.planned(_plan("one", "two"))
    )


# ------------------------------------------------------------------- the finding names both


def test_a_double_allocation_names_both_schedulers() -> None:
    folded = hold_history.fold(language.observe("a+D1 b+D1"))
    schedulers = _schedulers(folded, {"a": A, "b": B}, _writers())
    given = {scheduler_attribution.AllocationWriters: schedulers}
    evidence = protocol.Evidence(_plan("one", "two"), given)
    found = device_exclusivity.check(folded, lambda _: None)
    result = scheduler_attribution.review(evidence, device_exclusivity.CHECK, found)
    (violation,) = verdicts.double_allocations([result])
    assert violation.schedulers == (
        "two uncoordinated schedulers (kubernetes#128980): scheduler (one) allocated it to a, "
        "scheduler-2 (two) to b"
    )
    assert [holder.scheduler for holder in violation.holders] == [
        "scheduler (one)",
        "scheduler-2 (two)",
    ]
    alone = protocol.Evidence(_plan("one"), given)
    assert scheduler_attribution.review(alone, device_exclusivity.CHECK, found) is found
    evidence.plan.settings["subject"]["leader_election"] = True
    again = scheduler_attribution.review(evidence, device_exclusivity.CHECK, found)
    assert "the leader changed" in verdicts.double_allocations([again])[0].schedulers


@pytest.mark.parametrize(
    ("first", "second", "is_elected", "told"),
    [
        ("x", "x", False, "x allocated it to both claims"),
        ("x", "y", True, "x allocated it to a, y to b: the leader changed in between"),
        ("x", "", False, "one by x, the other one unknown"),
        ("", "", False, "unknown"),
    ],
)
def test_a_sentence_for_each_case(first: str, second: str, is_elected: bool, told: str) -> None:
    plain = verdicts.Holder(
        uid="u",
        namespace="n",
        name="a",
        held_from_rv=1,
        held_until_rv=None,
        pods=[],
        allocated_ts_ns=0,
        released_ts_ns=None,
        scheduler=first,
    )
    other = msgspec.structs.replace(plain, name="b", scheduler=second)
    assert scheduler_attribution.sentence([plain, other], are_elected=is_elected) == told


# ------------------------------------------------------------------------- the evidence


def _claim(version: int, *, manager: str = "", pod: str = "", **meta: Any) -> records.Observation:
    """A version of claim `u`; it is allocated if it is reserved for a pod."""
    managed = {
        "manager": manager,
        "operation": "Update",
        "subresource": "status",
        "fieldsV1": {"f:status": {"f:allocation": {}}},
    }
    spec = {"manager": "user", "operation": "Update", "fieldsV1": {"f:spec": {}}}
    obj: dict[str, Any] = {
        "metadata": {
            "uid": "u",
            "name": "a",
            "namespace": language.NAMESPACE,
            "resourceVersion": str(version),
            "managedFields": [spec, managed] if manager else [spec],
            **meta,
        }
    }
    if pod:
        results = [{"driver": "d", "pool": "p", "device": "x", "request": "r"}]
        obj["status"] = {
            "allocation": {"devices": {"results": results}},
            "reservedFor": [{"resource": "pods", "name": pod, "uid": pod}],
        }
    return language.observation("resourceclaims", version, obj)


def _pod(name: str, scheduler: str) -> records.Observation:
    meta = {"uid": name, "name": name, "resourceVersion": "1"}
    return language.observation("pods", 1, {"metadata": meta, "spec": {"schedulerName": scheduler}})


def _found(plan: plans.Plan, *observed: records.Observation) -> list[str]:
    schedulers = scheduler_attribution.AllocationWriters(scheduler_attribution.planned(plan))
    folded = hold_history.fold(observed, schedulers)
    return [str(schedulers.scheduler_of((hold.uid, hold.from_rv))) for hold in folded.holds]


def test_the_field_manager_tells_schedulers_with_one_name_apart() -> None:
    plan = _plan("same", "same")
    observed = [
        _claim(2),
        _claim(3, manager=B, pod="p"),
        _claim(4, manager=B, pod="p"),
        _claim(5),
        _claim(6, manager=f"{A}.2", pod="p"),
    ]
    assert _found(plan, *observed) == ["scheduler-2 (same)", "scheduler.2 (same)"]


def test_the_pod_tells_schedulers_with_one_manager_apart() -> None:
    observed = [_pod("p", "two"), _claim(3, manager="kube-scheduler", pod="p")]
    assert _found(_plan("one", "two"), *observed) == ["scheduler-2 (two)"]
    assert _found(_plan("two", "two"), *observed) == ["None"]


MANAGERS = {"a": A, "b": A, "c": B, "x": ""}


CASES = text_tables.cases(__file__, "scheduler_cases.txt")


@pytest.mark.parametrize(("text", "expected", "why"), CASES)
def test_each_scheduler_is_judged_by_itself(text: str, expected: str, why: str) -> None:
    writers = _writers()
    folded = hold_history.fold(language.observe(text), writers)
    given = {
        hold_history.HoldHistory: folded,
        scheduler_attribution.AllocationWriters: _schedulers(folded, MANAGERS, writers),
    }
    found = scheduler_attribution.judge(protocol.Evidence(building.plan(), given))
    assert f"{found.verdict} {found.violation_count} {found.examined_count}" == expected
    assert why in found.reason
