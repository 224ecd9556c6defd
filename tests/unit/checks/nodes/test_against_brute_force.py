"""The checks of nodes against judges that look at every moment: random small histories."""

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from harness.checks import protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.nodes import device_statuses, extended_claims, preparations, started_containers
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


def _seen(
    body: Sequence[records.Body],
    started: Sequence[records.Body],
    prepared: Sequence[preparations.Preparation] = (),
) -> protocol.Evidence:
    """The evidence of both checks of containers."""
    reading = preparations.Reading()
    reading.prepared = list(prepared)
    for item in started:
        reading.add(item)
    given = {preparations.Reading: reading}
    return claim_judging.evidence(
        body, [started_containers.CONTAINER_PARAMETERS], of=PLAN, given=given
    )


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
        result = _judged(preparations.PREPARED_DEVICES, protocol.Evidence(PLAN, given))
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


# ------------------------------------------------------------------------------ parameters


PLAN = building.plan(settings={"pools": {"device_class": {"parameters": {"mode": "shared"}}}})


def test_container_parameters() -> None:
    def compare(seed: int) -> Iterator[verdicts.Verdict]:
        stream = random.Random(seed)
        values = {name: stream.choice("12") for name in "ab" if stream.random() < 0.9}
        body: list[records.Body] = [_with_parameters(*item) for item in values.items()]
        uses = {pod: stream.sample("ab", stream.randint(1, 2)) for pod in "pq"}
        body += [_with_containers(pod, uses[pod]) for pod in "pq" if stream.random() < 0.9]
        known = {
            json.loads(bytes(item.object))["metadata"]["name"]
            for item in body
            if isinstance(item, records.Observation)
        }
        started, expected = [], []
        for pod in stream.choices("pq", k=stream.randrange(4)):
            environment = {"PATH": "/bin", "admin_mode": stream.choice(["shared", "shared", "own"])}
            for claim in stream.choices("ab", k=2):
                environment |= {f"user_{claim}": stream.choice("12"), f"claim_{claim}_r": "true"}
            if stream.random() < 0.7 and known >= {pod, *uses[pod]}:
                environment = {"HOME": "/", **_environment(uses[pod], values)}
            started.append(_started(pod, environment))
            is_known = known >= {pod, *uses[pod]}
            told = {key: value for key, value in environment.items() if "_" in key}
            expected.append(told == _environment(uses[pod], values) if is_known else None)
        result = _judged(started_containers.CONTAINER_PARAMETERS, _seen(body, started))
        wrong = expected.count(False)
        verdict = INVALID if wrong else VALID if expected and None not in expected else UNKNOWN
        told_counts = result.verdict, result.violation_count, result.examined_count
        assert told_counts == (verdict, wrong, len(expected) - expected.count(None))
        yield result.verdict

    brute_force.agree(compare, *verdicts.Verdict, one_in=20)


def test_prepared_containers() -> None:
    def compare(seed: int) -> Iterator[verdicts.Verdict]:
        stream = random.Random(seed)
        uses = {pod: stream.sample("ab", stream.randint(1, 2)) for pod in "pq"}
        body: list[records.Body] = [_with_containers(pod, uses[pod]) for pod in "pq"]
        prepared = [_prepared_for(stream) for _ in range(stream.randrange(8))]
        started = [
            msgspec.structs.replace(_started(pod, {}), node="m", ts_ns=stream.randrange(12))
            for pod in stream.choices("pq", k=stream.randrange(3))
        ]
        failed = [_failed(pod) for pod in "pq" if stream.random() < 0.1]
        lacking = [
            (item, claim)
            for item in started
            for claim in uses[item.pod]
            if not any(_is_prepared(one, claim, item) for one in prepared)
        ]
        given = _seen(body, [*started, *failed], prepared)
        result = started_containers.PREPARED_CONTAINERS.judge(given)
        if not started and not failed:
            assert isinstance(result, verdicts.NotExamined)
            yield UNKNOWN
            return
        assert isinstance(result, verdicts.CheckResult)
        told = result.verdict, result.violation_count, result.examined_count
        wrong, examined = len(lacking) + len(failed), len(started) + len(failed)
        assert told == (verdict_of(examined, wrong), wrong, examined)
        yield result.verdict

    brute_force.agree(compare, *verdicts.Verdict, one_in=50)


def _prepared_for(stream: random.Random) -> preparations.Preparation:
    from_ns = stream.randrange(10)
    until_ns = stream.choice([None, from_ns + stream.randrange(1, 6)])
    return preparations.Preparation(
        node=stream.choice("mmmn"),
        namespace="tests",
        name=(name := stream.choice("ab")),
        uid=f"uid-{name}",
        exclusive=frozenset("d"),
        from_ns=from_ns,
        until_ns=until_ns,
    )


def _failed(pod: str) -> records.ContainersFailed:
    return records.ContainersFailed(
        node="m",
        namespace="tests",
        pod=pod,
        pod_uid=f"uid-{pod}",
        reason="CreateContainerError",
        message="unresolvable CDI device",
        ts_ns=3,
    )


def _is_prepared(
    one: preparations.Preparation, claim: str, started: records.ContainerStarted
) -> bool:
    if (one.node, one.name) != (started.node, claim):
        return False
    return one.from_ns <= started.ts_ns < (one.until_ns or 99)


def _environment(claims: Sequence[str], values: dict[str, str]) -> dict[str, str]:
    own = {f"user_{claim}": values[claim] for claim in claims if claim in values}
    return {"admin_mode": "shared", **own, **{f"claim_{claim}_r": "true" for claim in claims}}


def _with_parameters(name: str, value: str) -> records.Observation:
    config = [{"opaque": {"driver": "d", "parameters": {name: value}}}]
    spec = {"devices": {"requests": [{"name": "r"}], "config": config}}
    claim = {"metadata": {"name": name, "uid": f"uid-{name}"}, "spec": spec}
    return observed("resourceclaims", 1, claim, "ADDED")


def _with_containers(pod: str, claims: Sequence[str]) -> records.Observation:
    spec = {
        "containers": [{"name": "work", "resources": {"claims": [{"name": c} for c in claims]}}],
        "resourceClaims": [{"name": claim, "resourceClaimName": claim} for claim in claims],
    }
    return observed("pods", 1, {"metadata": {"name": pod, "uid": f"uid-{pod}"}, "spec": spec})


def _started(pod: str, environment: dict[str, str]) -> records.ContainerStarted:
    return records.ContainerStarted(
        node="n",
        namespace="tests",
        pod=pod,
        pod_uid=f"uid-{pod}",
        container="work",
        environment=environment,
        ts_ns=2,
    )


# ------------------------------------------------------------------------------ extended


GPU = "example.com/gpu"
EXTENDED = {"pools": {"device_class": {"name": "gpus", "extended_resource": GPU}}}


def _extended_claim(stream: random.Random, name: str) -> Object:
    """A version of a claim of this UID; its metadata stay as they are."""
    of_name = random.Random(name)
    meta: Object = {"name": "c", "uid": name}
    meta["ownerReferences"] = [
        {"kind": "Pod", "uid": of_name.choice(["uid-p"] * 5 + ["uid-q"]), "controller": True}
    ]
    if of_name.random() < 0.9:
        meta["annotations"] = {"resource.kubernetes.io/extended-resource-claim": "true"}
    rows = [
        {"driver": "d", "pool": "n", "device": f"d{index}", "request": "r"}
        for index in range(stream.choice([1, 2, 2, 2, 2, 3]))
    ]
    users = [{"name": "p", "uid": stream.choice(["uid-p"] * 5 + ["uid-q"]), "resource": "pods"}]
    return {
        "metadata": meta,
        "spec": {"devices": {"requests": [{"name": "r"}]}},
        "status": {"allocation": {"devices": {"results": rows}}, "reservedFor": users},
    }


def _extended_pod(stream: random.Random) -> Object:
    amount = stream.choice(["2", "2", "2", "1", "0"])
    mapping = {"containerName": "work", "resourceName": GPU}
    mapping["requestName"] = stream.choice(["r"] * 5 + ["other"])
    named = {"resourceClaimName": "c", "requestMappings": [mapping]}
    status: Object = {"phase": stream.choice(["Running", "Running", "Pending"])}
    if stream.random() < 0.9:
        status["extendedResourceClaimStatus"] = named
    container = {"name": "work", "resources": {"requests": {GPU: amount}}}
    return {
        "metadata": {"name": "p", "uid": "uid-p"},
        "spec": {"containers": [container]},
        "status": status,
    }


def _lacks(pod: Object, claim: Object | None) -> bool:
    named = pod["status"].get("extendedResourceClaimStatus")
    amount = int(pod["spec"]["containers"][0]["resources"]["requests"][GPU])
    return (
        named is None
        or claim is None
        or claim["metadata"]["ownerReferences"][0]["uid"] != "uid-p"
        or claim["status"]["reservedFor"][0]["uid"] != "uid-p"
        or len(claim["status"]["allocation"]["devices"]["results"]) != amount
        or named["requestMappings"][0]["requestName"] != "r"
    )


def test_extended_claims() -> None:
    def compare(seed: int) -> Iterator[verdicts.Verdict]:
        stream = random.Random(seed)
        body: list[records.Body] = []
        claims: list[tuple[int, Object]] = []
        ran: tuple[int, Object] | None = None
        for version in range(1, stream.randint(3, 8)):
            if stream.random() < 0.5:
                claim = _extended_claim(stream, f"uid-c-{seed}")
                body.append(observed("resourceclaims", version, claim))
                if "annotations" in claim["metadata"]:
                    claims.append((version, claim))
            else:
                pod = _extended_pod(stream)
                body.append(observed("pods", version, pod))
                if ran is None and pod["status"]["phase"] == "Running":
                    ran = version, pod
        has_gap = stream.random() < 0.1
        if has_gap:
            body.append(language.gap("pods", 1, 1))
        check = extended_claims.CHECK
        seen = claim_judging.evidence(body, [check], of=building.plan(settings=EXTENDED))
        result = _judged(check, seen)
        asks = ran is not None and ran[1]["spec"]["containers"][0]["resources"]["requests"] != {
            GPU: "0"
        }
        wrong = False
        if ran is not None and asks:
            before = [claim for version, claim in claims if version <= ran[0]]
            wrong = _lacks(ran[1], before[-1] if before else None)
        expected = UNKNOWN if wrong and has_gap else verdict_of(asks, wrong)
        told = result.verdict, result.examined_count, result.violation_count
        assert told == (expected, asks, wrong and not has_gap)
        yield result.verdict

    brute_force.agree(compare, *verdicts.Verdict, one_in=20)
