"""Double allocations by several schedulers are told apart from those by one of them alone."""

import itertools
import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest

from harness.checks import device_exclusivity, protocol, scheduler_attribution, verdicts
from harness.checks.holds import hold_history
from harness.history import plans, records
from tests.histories import building, language
from tests.support import brute_force

A, B = "flake-hunt-scheduler", "flake-hunt-scheduler-2"


def _plan(*names: str) -> plans.Plan:
    subject = {"schedulers": [{"kind": "python", "scheduler_name": name} for name in names]}
    return building.plan(settings={"subject": subject})


def _schedulers(
    folded: hold_history.HoldHistory, managers: Mapping[str, str]
) -> scheduler_attribution.AllocationWriters:
    """The schedulers of the claims by their names."""
    plan = _plan("one", "two")
    writers = scheduler_attribution.AllocationWriters(scheduler_attribution.planned(plan))
    for hold in folded.holds:
        writers.by_allocation[hold.uid, hold.from_rv] = scheduler_attribution.AllocationWriter(
            manager=managers[hold.name], pods=()
        )
    return writers


# ------------------------------------------------------------------- the finding names both


def test_a_double_allocation_names_both_schedulers() -> None:
    folded = hold_history.fold(language.observe("a+D1 b+D1"))
    schedulers = _schedulers(folded, {"a": A, "b": B})
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


MANAGERS = {"flake-hunt-scheduler": "one", "flake-hunt-scheduler-2": "two", "": None}
SUBJECT = {"schedulers": [{"kind": "python", "scheduler_name": name} for name in ("one", "two")]}
VALID, UNKNOWN, INVALID = verdicts.Verdict


def _draw(stream: random.Random, number: int) -> str:
    """A history of claims that take and release devices, and may be deleted; all with a number."""
    held: dict[str, set[str]] = {}
    words = []
    for _ in range(stream.randint(2, 12)):
        name, device = f"{stream.choice('abcd')}{number}", f"D{number}{stream.choice('112')}"
        if held.get(name) and stream.random() < 0.6:
            words.append(f"{name}-{held[name].pop()}")
        elif name in held and stream.random() < 0.1:
            words.append(f"{name}~")
            del held[name]
        elif device not in held.setdefault(name, set()):
            held[name].add(device)
            words.append(f"{name}+{device}" + stream.choice(["", "", "", "!"]))
    return " ".join(words)


def _overlap(one: hold_history.Hold, two: hold_history.Hold) -> bool:
    versions = [
        set(range(hold.from_rv, hold.until_rv or 999)) for hold in (one, two) if hold.exclusive
    ]
    return len(versions) == 2 and bool(versions[0] & versions[1])


def _pairs(holds: Sequence[hold_history.Hold]) -> list[tuple[hold_history.Hold, hold_history.Hold]]:
    return [
        (one, two) if one.from_rv < two.from_rv else (two, one)
        for one, two in itertools.combinations(holds, 2)
        if one.device == two.device and one.uid != two.uid and _overlap(one, two)
    ]


def _had(
    second: hold_history.Hold,
    holds: Sequence[hold_history.Hold],
    writers: scheduler_attribution.AllocationWriters,
) -> set[str | None]:
    """Return who had the device of a hold since it was last free, before its next claim came."""
    before = [
        hold
        for hold in holds
        if hold.exclusive and hold.device == second.device and hold.from_rv <= second.from_rv
    ]
    for index in range(len(before) - 1, 0, -1):
        ended = max((hold.until_rv or 999) for hold in before[:index])
        if writers.first_seen[before[index].uid] >= ended:
            before = before[index:]
            break
    return {MANAGERS[writers.by_allocation[hold.uid, hold.from_rv].manager] for hold in before}


def _evidence(
    folded: hold_history.HoldHistory, schedulers: scheduler_attribution.AllocationWriters
) -> protocol.Evidence:
    given = {hold_history.HoldHistory: folded, scheduler_attribution.AllocationWriters: schedulers}
    return protocol.Evidence(building.plan(), given)


def test_both_checks() -> None:
    found_in = dict.fromkeys([(name, verdict) for name in "xs" for verdict in (VALID, INVALID)], 0)
    unclear_count = 0
    sizes, seeds = random.Random(0), iter(range(brute_force.HISTORIES))
    while group := list(itertools.islice(seeds, sizes.choice([1, 2, 30]))):
        seed = group[0]
        stream = random.Random(seed)
        # Several histories in one, of other claims and devices: most of the time is for tables.
        text = " ".join(_draw(stream, number) for number in range(1, len(group) + 1))
        folded = hold_history.fold(language.observe(text))
        planned = scheduler_attribution.planned(building.plan(settings={"subject": SUBJECT}))
        writers = scheduler_attribution.AllocationWriters(planned)
        for hold in folded.holds:
            first = stream.choice([0, hold.from_rv - 1, hold.from_rv])
            writers.first_seen[hold.uid] = min(writers.first_seen.get(hold.uid, first), first)
            writers.by_allocation[hold.uid, hold.from_rv] = scheduler_attribution.AllocationWriter(
                manager=stream.choice([*MANAGERS, *MANAGERS, *list(MANAGERS)[:2]]), pods=()
            )
        holds = list(folded.holds)
        pairs = _pairs(holds)
        examined = sum(hold.exclusive for hold in holds)
        had = [_had(second, holds, writers) for _, second in pairs]
        own = sum(len(names) == 1 and None not in names for names in had)
        unclear = sum(None in names for names in had)

        every = device_exclusivity.check(folded, lambda _: False)
        expected = INVALID if pairs else VALID if examined else UNKNOWN
        assert (every.verdict, every.violation_count) == (expected, len(pairs)), seed
        alone = scheduler_attribution.judge(_evidence(folded, writers))
        expected = INVALID if own else VALID if examined and not unclear else UNKNOWN
        told = alone.verdict, alone.violation_count, alone.examined_count
        assert told == (expected, own, examined), seed
        for key in (("x", every.verdict), ("s", alone.verdict)):
            if key in found_in:
                found_in[key] += 1
        unclear_count += bool(unclear and not own)
    assert all(count > brute_force.HISTORIES // 150 for count in found_in.values()), found_in
    assert unclear_count > brute_force.HISTORIES // 150
