"""The checks of nodes against judges that look at every moment: random small histories."""

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from harness.checks import protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.nodes import device_statuses, preparations
from harness.history import records
from tests.histories import building, claim_judging, hold_lists, language
from tests.support import brute_force

VALID, UNKNOWN, INVALID = verdicts.Verdict
READINESS = building.plan(
    settings={"pools": {"more": [{"name": "a", "binding_conditions": ["ready"]}]}}
)
OF_FILES = building.plan(settings={"pools": {"imported": {"has": ["binding-conditions"]}}})
Object = dict[str, Any]


def _judged(check: protocol.Check, evidence: protocol.Evidence) -> verdicts.CheckResult:
    answer = check.judge(evidence)
    assert isinstance(answer, verdicts.CheckResult)
    return answer


def observed(
    resource: str, version: int, document: Object, kind: Any = "MODIFIED"
) -> records.Observation:
    meta = {"namespace": "tests", "resourceVersion": str(version), **document["metadata"]}
    return language.observation(resource, version, {**document, "metadata": meta}, kind)


def verdict_of(examined: int, wrong: int) -> verdicts.Verdict:
    if wrong:
        return INVALID
    return VALID if examined else UNKNOWN


# ------------------------------------------------------------------------------ preparations


def _preparations(stream: random.Random, number: int) -> list[preparations.Preparation]:
    starts = stream.sample(range(12), stream.randrange(6))
    return [
        preparations.Preparation(
            node=stream.choice("mn"),
            namespace="tests",
            name=(name := f"{stream.choice('abc')}{number}"),
            uid=f"uid-{name}",
            exclusive=frozenset(stream.sample([f"d{number}", f"e{number}"], stream.randint(1, 2))),
            from_ns=start,
            until_ns=stream.choice([None, *range(start + 1, 14)]),
        )
        for start in starts
    ]


def _hold(device: str, claim: str) -> hold_history.Hold:
    return hold_history.Hold(
        device=device,
        exclusive=True,
        uid=f"uid-{claim}",
        namespace="tests",
        name=claim,
        from_rv=1,
        from_ts_ns=0,
    )


def _lasts(item: preparations.Preparation, now: int) -> bool:
    return item.from_ns <= now and (item.until_ns is None or now < item.until_ns)


def _conflicts(
    prepared: Sequence[preparations.Preparation], device: str
) -> list[tuple[str, str, str]]:
    """Return the device with the names of two claims, for each two that have it at once."""
    return [
        (device, one.name, two.name)
        for one, two in itertools.combinations(prepared, 2)
        if device in one.exclusive & two.exclusive and one.uid != two.uid
        if any(_lasts(one, now) and _lasts(two, now) for now in range(20))
    ]


def _reuses(prepared: Sequence[preparations.Preparation], device: str) -> int:
    uses = sorted((item.from_ns, item.name) for item in prepared if device in item.exclusive)
    return sum(one[1] != two[1] for one, two in itertools.pairwise(uses))


def test_prepared_devices() -> None:
    found_in = dict.fromkeys(verdicts.Verdict, 0)
    sizes, seeds = random.Random(0), iter(range(brute_force.HISTORIES))
    while group := list(itertools.islice(seeds, sizes.choice([1, 1, 1, 1, 30]))):
        # Several histories in one, of other claims and devices: most of the time is for tables.
        stream = random.Random(group[0])
        parts = [_preparations(stream, number) for number in range(len(group))]
        devices = [(part, f"{name}{number}") for number, part in enumerate(parts) for name in "de"]
        held = {
            (device, f"{name}{device[1:]}")
            for _, device in devices
            for name in "abc"
            if stream.random() < 0.8
        }
        prepared = [item for part in parts for item in part]
        stream.shuffle(prepared)
        reading, folded = preparations.Reading(), hold_history.HoldHistory()
        reading.prepared = prepared
        folded.holds = hold_lists.columns(_hold(*pair) for pair in held)
        given = {preparations.Reading: reading, hold_history.HoldHistory: folded}
        result = _judged(preparations.PREPARED_DEVICES, protocol.Evidence(building.plan(), given))
        pairs = [pair for part, device in devices for pair in _conflicts(part, device)]
        sure = [pair for pair in pairs if {(pair[0], name) for name in pair[1:]} <= held]
        again = sum(_reuses(part, device) for part, device in devices)
        expected = INVALID if sure else VALID if again and not pairs else UNKNOWN
        assert (result.verdict, result.violation_count, result.examined_count) == (
            expected,
            len(sure),
            again,
        ), group[0]
        found_in[result.verdict] += 1
    assert all(count > brute_force.HISTORIES // 150 for count in found_in.values()), found_in


# ------------------------------------------------------------------------------ readiness


def _claim_version(stream: random.Random, name: str) -> tuple[Object, str]:
    row = {"driver": "d.example", "pool": "fabric", "device": "a"}
    conditions = stream.choice(
        [{}, {"bindingConditions": ["x"]}, {"bindingConditions": ["x", "y"]}]
    )
    if conditions and stream.random() < 0.5:
        conditions["bindingFailureConditions"] = ["z"]
    true = [kind for kind in "xyz" if stream.random() < 0.6]
    reported = [{"type": kind, "status": "True" if kind in true else "False"} for kind in "xyz"]
    status: Object = {"devices": [{**row, "conditions": reported}]}
    if stream.random() < 0.8:
        status["allocation"] = {"devices": {"results": [row | conditions]}}
    kind = "DELETED" if stream.random() < 0.1 else "MODIFIED"
    return {"metadata": {"name": name, "uid": f"uid-{name}"}, "status": status}, kind


def _is_ready(status: Object) -> bool | None:
    """Return whether all conditions hold; None: there are none."""
    [row] = status.get("allocation", {"devices": {"results": [{}]}})["devices"]["results"]
    if not row.get("bindingConditions"):
        return None
    [device] = status["devices"]
    true = {item["type"] for item in device["conditions"] if item["status"] == "True"}
    return set(row["bindingConditions"]) <= true and not (
        true & set(row.get("bindingFailureConditions", []))
    )


def test_device_readiness() -> None:
    def compare(seed: int) -> Iterator[verdicts.Verdict]:
        stream = random.Random(seed)
        claims: dict[str, list[tuple[int, Object, str]]] = {"a": [], "b": []}
        body: list[records.Body] = []
        pods: dict[str, tuple[int, list[str]]] = {}
        for version in range(1, stream.randint(3, 12)):
            if stream.random() < 0.7:
                name = stream.choice("ab")
                document, kind = _claim_version(stream, name)
                claims[name].append((version, document, kind))
                body.append(observed("resourceclaims", version, document, kind))
                continue
            name = stream.choice("pq")
            entries = ["a", "b"] if name == "p" else ["a"]
            spec: Object = {
                "resourceClaims": [{"name": e, "resourceClaimName": e} for e in entries]
            }
            if stream.random() < 0.7:
                spec["nodeName"] = "n"
                pods.setdefault(name, (version, entries))
            document = {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}
            body.append(observed("pods", version, document))
        stream.shuffle(body)  # pods and claims come by different watches
        body.sort(key=lambda item: (item.resource, item.resource_version))  # type: ignore[union-attr]
        check, plan = (
            device_statuses.DEVICE_READINESS,
            stream.choice([READINESS, READINESS, OF_FILES]),
        )
        result = check.judge(claim_judging.evidence(body, [check], of=plan))
        states = []
        for version, entries in pods.values():
            for entry in entries:
                before = [item for item in claims[entry] if item[0] < version]
                if before and before[-1][2] != "DELETED":
                    states.append(_is_ready(before[-1][1]["status"]))
        examined, wrong = len(states) - states.count(None), states.count(False)
        if plan is OF_FILES and not examined:
            assert isinstance(result, verdicts.NotExamined)
            yield UNKNOWN
            return
        assert isinstance(result, verdicts.CheckResult)
        told = result.verdict, result.examined_count, result.violation_count
        assert told == (verdict_of(examined, wrong), examined, wrong)
        yield result.verdict

    brute_force.agree(compare, *verdicts.Verdict, one_in=20)
