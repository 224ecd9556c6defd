"""Claims that stay prepared after their pods are gone."""

import os
import random
from typing import Any

import msgspec
import pytest

from harness.checks import verdicts, world_states
from harness.checks.nodes import preparations
from harness.checks.observed import observed_claims, observed_pods
from harness.checks.progress import leftover_preparations
from harness.history import records
from tests.histories import building, worlds

HISTORIES = int(os.environ.get("FLAKE_HUNT_HISTORIES", "3000"))
DEVICES = [worlds.device("n", index) for index in range(3)]
VALID, UNKNOWN, INVALID = verdicts.Verdict
ENDED = (records.Phase(name="stopping", ts_ns=0),)


def _preparation(claim: str, until_ns: int | None) -> preparations.Preparation:
    return preparations.Preparation(
        node="worker-0",
        namespace="tests",
        name=claim,
        uid=f"uid-{claim}",
        exclusive=frozenset({"d"}),
        from_ns=0,
        until_ns=until_ns,
    )


def _final(*, phase: str = "Running") -> world_states.WorldState:
    """A world with a pod `p` that claim `used` is reserved for, and a claim `unused`."""
    final = world_states.WorldState()
    documents: list[tuple[Any, dict[str, Any]]] = [
        (observed_pods.Pod, {"name": "p", "status": {"phase": phase}}),
        (
            observed_claims.Claim,
            {"name": "used", "status": {"reservedFor": [{"name": "p", "uid": "uid-p"}]}},
        ),
        (observed_claims.Claim, {"name": "unused", "status": {}}),
    ]
    for kind, document in documents:
        name = document["name"]
        meta = {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "namespace": "tests"}
        final.note(msgspec.convert({**document, "metadata": meta}, kind), 0)
    return final


def test_what_is_unprepared_or_in_use_is_in_order() -> None:
    prepared = [_preparation("gone", 7), _preparation("used", None)]
    result = leftover_preparations.check(prepared, _final(), ENDED)
    assert (result.verdict, result.examined_count) == (VALID, 2)


@pytest.mark.parametrize(
    ("claim", "phase"), [("gone", "Running"), ("unused", "Running"), ("used", "Succeeded")]
)
def test_a_claim_without_a_pod_that_runs_is_left_over(claim: str, phase: str) -> None:
    final = _final(phase=phase)
    result = leftover_preparations.check([_preparation(claim, None)], final, ENDED)
    (violation,) = result.violations
    assert result.verdict is INVALID
    assert violation.summary == f"claim {claim} is still prepared on worker-0"
    assert [item.uid for item in violation.objects] == [f"uid-{claim}"]


def test_a_run_that_had_no_rest_or_no_preparations_is_unknown() -> None:
    found = [records.Phase(name="found", ts_ns=0, detail="a device in two claims"), *ENDED]
    left = [_preparation("gone", None)]
    assert leftover_preparations.check(left, _final(), found).verdict is UNKNOWN
    nothing = leftover_preparations.check([], _final(), ENDED)
    assert (nothing.verdict, nothing.reason) == (
        UNKNOWN,
        "no claim was prepared, so nothing was examined",
    )


def test_the_reason_has_the_first_claim_and_counts_the_others() -> None:
    left = [_preparation("gone", None), _preparation("unused", None)]
    told = "claim gone is still prepared on worker-0"
    assert leftover_preparations.check(left[:1], _final(), ENDED).reason == told
    assert leftover_preparations.check(left, _final(), ENDED).reason == f"{told}, and 1 more"
    settled = leftover_preparations.check([_preparation("gone", 7)], _final(), ENDED)
    assert settled.reason == "preparations: 1; none is left without its pod"


@pytest.mark.parametrize(
    ("settings", "kinds", "expected"),
    [
        ({}, [], True),
        ({}, ["kill-process"], True),
        ({}, ["lose-node"], False),
        ({}, ["reboot-node"], True),
        ({"traffic": {"force_delete": True}}, [], False),
        ({"driver": {"termination_s": 1.0}}, [], False),
        ({"driver": {"unprepare": {"delay_s": 0.1}}}, [], False),
        ({"driver": {"prepare": {"delay_s": 0.1}}}, [], True),
    ],
)
def test_it_is_owed_where_claims_are_unprepared_in_time(
    settings: dict[str, Any], kinds: list[str], expected: bool
) -> None:
    plan = msgspec.structs.replace(
        building.plan(settings=settings),
        progress_s=10.0,
        faults=[building.fault(kind) for kind in kinds],
    )
    assert leftover_preparations.applies(plan) is expected
    assert not leftover_preparations.applies(msgspec.structs.replace(plan, progress_s=None))


def _world(stream: random.Random) -> worlds.World:
    """Pods, and claims that hold up to two devices."""
    phases = ["Running", "Running", "Pending", "Succeeded", "Failed"]
    pods = [worlds.pod(name, phase=stream.choice(phases)) for name in "pq" if stream.random() < 0.8]
    claims = []
    for name in "abc"[: stream.randrange(4)]:
        held = stream.sample(DEVICES, stream.randrange(3))
        users = stream.sample(["p", "q", "gone"], stream.randrange(3))
        claims.append(worlds.claim(name, *held, users=users))
    return worlds.World(pods=pods, claims=claims)


def test_random_worlds_against_a_judge_that_compares_sets() -> None:
    found_in = dict.fromkeys(verdicts.Verdict, 0)
    for seed in range(HISTORIES):
        stream = random.Random(seed)
        world = _world(stream)
        prepared = [
            preparations.Preparation(
                node="n",
                namespace="tests",
                name=name,
                uid=f"uid-{name}",
                exclusive=frozenset(),
                from_ns=1,
                until_ns=stream.choice([None, 7]),
            )
            for name in "abcz"
            if stream.random() < 0.4
        ]
        names = [
            "load",
            stream.choice(["stopping", "stopping", "stopping", "ended early", "found"]),
        ]
        phases = [records.Phase(name=name, ts_ns=1, detail="why") for name in names]
        final = worlds.judged(world, plan=worlds.plan())[world_states.WorldState]
        result = leftover_preparations.check(prepared, final, phases)
        running = {
            pod["metadata"]["name"]
            for pod in world.pods
            if pod["status"]["phase"] in ("Running", "Pending")
        }
        used = {
            claim["metadata"]["name"]
            for claim in world.claims
            if any(user["name"] in running for user in claim["status"].get("reservedFor", ()))
        }
        left = [item for item in prepared if item.until_ns is None and item.name not in used]
        is_over = names[1] == "stopping"
        expected = UNKNOWN
        if is_over and prepared:
            expected = INVALID if left else VALID
        told = result.verdict, result.violation_count, result.examined_count
        assert told == (expected, len(left) if is_over else 0, len(prepared)), seed
        found_in[result.verdict] += 1
    assert all(count > HISTORIES // 20 for count in found_in.values()), found_in
