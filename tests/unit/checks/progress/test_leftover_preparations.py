"""Claims that stay prepared after their pods are gone."""

import random
from collections.abc import Iterator

from harness.checks import protocol, verdicts
from harness.checks.nodes import preparations
from harness.checks.progress import resource_leaks, world_states
from harness.history import records
from tests.histories import worlds
from tests.support import brute_force

DEVICES = [worlds.device("n", index) for index in range(3)]
VALID, UNKNOWN, INVALID = verdicts.Verdict


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
    def compare(seed: int) -> Iterator[verdicts.Verdict]:
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
        reading = preparations.Reading()
        reading.prepared = prepared
        final = worlds.judged(world, plan=worlds.plan())[world_states.WorldState]
        given = {preparations.Reading: reading, world_states.WorldState: final}
        result = resource_leaks._judge_preparations(
            protocol.Evidence(worlds.plan(), given, phases=phases)
        )
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
        expected = (INVALID if left else VALID) if is_over and prepared else UNKNOWN
        told = result.verdict, result.violation_count, result.examined_count
        assert told == (expected, len(left) if is_over else 0, len(prepared))
        yield result.verdict

    brute_force.agree(compare, *verdicts.Verdict, one_in=20)
