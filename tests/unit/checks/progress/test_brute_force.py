"""Random small worlds: the search for stuck objects agrees with one that tries every placement."""

import collections
import itertools
import random
from collections.abc import Iterator
from typing import Any

import msgspec

from harness.checks import protocol, verdicts
from harness.checks.progress import claim_progress, resource_leaks, stuck_objects, world_states
from tests.histories import worlds
from tests.support import brute_force

NODES = {"m": 1, "n": 3}
DEVICES = [worlds.device(node, index) for node, count in NODES.items() for index in range(count)]
POD_NAMES, CLAIM_NAMES = ["p0", "p1", "p2", "p3"], ["c0", "c1", "c2", "c3"]
Object = dict[str, Any]
CHECKS = (claim_progress.CHECK, resource_leaks.RESOURCE_LEAKS)
VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID


class Drawn:
    """At most four pods and four claims, and two nodes; most of them are ordinary."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        pod_names = self._random.sample(POD_NAMES, self._random.randint(1, 4))
        claim_names = self._random.sample(CLAIM_NAMES, self._random.randint(0, 4))
        self.world = worlds.World(
            pods=[self._pod(name) for name in pod_names],
            claims=[self._claim(name) for name in claim_names],
            slices=[worlds.devices_of(node, count) for node, count in NODES.items()],
        )

    def _is(self, share: float) -> bool:
        return self._random.random() < share

    def _pod(self, name: str) -> Object:
        """A pod with a named claim, a generated one, or one that is not generated yet."""
        if self._is(0.67):
            return worlds.pod(name, claim=self._random.choice(CLAIM_NAMES))
        named = self._random.choice([*CLAIM_NAMES, "missing", ""])
        return worlds.pod(
            name,
            claim=named,
            generated=None if named else self._random.choice([None, *CLAIM_NAMES]),
            phase=self._random.choice(["Pending", "Pending", "Running", "Succeeded"]),
            node=self._random.choice(["", "", "n"]),
            deleting=self._is(0.25),
            gated=self._is(0.25),
        )

    def _claim(self, name: str) -> Object:
        """A claim for one to three devices; those that it holds are on one node, or none."""
        count = self._random.choice([1, 1, 1, 2, 3])
        if self._is(0.67):
            return worlds.claim(name, count=count)
        node = self._random.choice(sorted(NODES))
        of_node = [worlds.device(node, index) for index in range(NODES[node])]
        held = self._random.sample(of_node, min(len(of_node), self._random.randint(0, 2)))
        return worlds.claim(
            name,
            *held,
            users=self._random.sample([*POD_NAMES, "gone"], self._random.randint(0, 2)),
            owner=self._random.choice(["", "", *POD_NAMES, "gone"]),
            deleting=self._is(0.25),
            count=count,
        )


class Brute:
    """The same question, answered from the documents by trying everything."""

    def __init__(self, world: worlds.World) -> None:
        self._pods = {item["metadata"]["name"]: item for item in world.pods}
        self._claims = {item["metadata"]["name"]: item for item in world.claims}

    def stuck_pods(self) -> set[str]:
        return {name for name, pod in self._pods.items() if self._is_stuck(pod)}

    def _is_stuck(self, pod: Object) -> bool:
        if "deletionTimestamp" in pod["metadata"]:
            return True
        if pod["status"]["phase"] != "Pending" or "schedulingGates" in pod["spec"]:
            return False
        if "nodeName" in pod["spec"] or not self._has_its_claim(pod):
            return True
        claim = self._claims.get(_claim_name(pod))
        return claim is not None and _is_usable(claim) and bool(_held(claim))

    def _has_its_claim(self, pod: Object) -> bool:
        """Return whether the claim is there, unless a user has to create it."""
        if "resourceClaimName" in pod["spec"]["resourceClaims"][0]:
            return True
        claim = self._claims.get(_claim_name(pod))
        return claim is not None and _owner(claim) == pod["metadata"]["uid"]

    def waiting(self) -> dict[str, str]:
        return {
            name: _claim_name(pod)
            for name, pod in self._pods.items()
            if name not in self.stuck_pods() and _waits(pod)
            if (claim := self._claims.get(_claim_name(pod))) and _is_usable(claim)
        }

    def needs(self) -> list[int]:
        return [
            self._claims[name]["spec"]["devices"]["requests"][0]["exactly"]["count"]
            for name in sorted(set(self.waiting().values()))
        ]

    def could_run(self) -> int:
        """The largest number of these claims for which there are devices at once."""
        idle = collections.Counter(
            device.split("/")[1] for device in set(DEVICES) - set(self._all_held())
        )
        needs = self.needs()
        placements = itertools.product([None, *NODES], repeat=len(needs))
        return max(
            sum(node is not None for node in placement)
            for placement in placements
            if _fits(placement, needs, idle)
        )

    def _all_held(self) -> Iterator[str]:
        for claim in self._claims.values():
            yield from _held(claim)

    def stuck_claims(self) -> set[str]:
        """Claims that no pod uses, and that hold devices, are deleted, or belong to no pod; and
        those that are used, but reserved for another pod, too, which is gone.
        """
        return {
            name
            for name, claim in self._claims.items()
            if (
                self._has_stale(claim)
                if self._is_used(name, claim)
                else _held(claim)
                or "deletionTimestamp" in claim["metadata"]
                or self._is_orphan(claim)
            )
        }

    def _has_stale(self, claim: Object) -> bool:
        return not all(
            self._may_run(user["name"]) for user in claim["status"].get("reservedFor", ())
        )

    def _is_used(self, name: str, claim: Object) -> bool:
        for user in claim["status"].get("reservedFor", ()):
            if self._may_run(user["name"]):
                return True
        return _is_usable(claim) and any(
            _claim_name(pod) == name and self._may_run(pod_name)
            for pod_name, pod in self._pods.items()
            if "deletionTimestamp" not in pod["metadata"]
        )

    def _is_orphan(self, claim: Object) -> bool:
        owner = _owner(claim)
        return owner is not None and not self._may_run(owner.removeprefix("uid-"))

    def _may_run(self, pod: str) -> bool:
        return pod in self._pods and self._pods[pod]["status"]["phase"] != "Succeeded"


def _claim_name(pod: Object) -> str:
    generated = pod["status"].get("resourceClaimStatuses", [{}])[0].get("resourceClaimName", "")
    return str(pod["spec"]["resourceClaims"][0].get("resourceClaimName") or generated)


def _waits(pod: Object) -> bool:
    return pod["status"]["phase"] == "Pending" and "schedulingGates" not in pod["spec"]


def _is_usable(claim: Object) -> bool:
    return "deletionTimestamp" not in claim["metadata"]


def _held(claim: Object) -> list[str]:
    results = claim["status"].get("allocation", {}).get("devices", {}).get("results", [])
    return [f"{item['driver']}/{item['pool']}/{item['device']}" for item in results]


def _owner(claim: Object) -> str | None:
    owners = claim["metadata"].get("ownerReferences", [])
    return str(owners[0]["uid"]) if owners else None


def _fits(
    placement: tuple[str | None, ...], needs: list[int], idle: collections.Counter[str]
) -> bool:
    used: collections.Counter[str] = collections.Counter()
    for node, need in zip(placement, needs, strict=True):
        if node is not None:
            used[node] += need
    return all(used[node] <= idle[node] for node in used)


def _compare(world: worlds.World, given: protocol.Evidence) -> tuple[bool, bool]:
    """Compare what is stuck, and return whether there are such pods and such claims."""
    state, brute = given[world_states.WorldState], Brute(world)
    found = stuck_objects.find_pods(state, given.plan.settings)
    every = [*found.stuck, *stuck_objects.find_claims(state).stuck]
    about = [item.summary.split(maxsplit=2) for item in every]
    served = {name for kind, name, told in about if kind == "pod" and told.startswith("waits")}
    assert found.doubts == {}
    assert {name for kind, name, _ in about if kind == "pod"} - served == brute.stuck_pods()
    assert {name for kind, name, _ in about if kind == "claim"} == brute.stuck_claims()
    claims_served = {brute.waiting()[name] for name in served}
    assert served == {name for name, claim in brute.waiting().items() if claim in claims_served}
    could_run = brute.could_run()
    assert min(could_run, 1) <= len(claims_served) <= could_run
    if len(set(brute.needs())) <= 1:
        assert len(claims_served) == could_run
    return bool(served or brute.stuck_pods()), bool(brute.stuck_claims())


def test_both_find_the_same() -> None:
    """Compare what is stuck, and what the checks of progress and of leaks say of it."""

    def compare(seed: int) -> Iterator[tuple[str, verdicts.Verdict]]:
        world = Drawn(seed).world
        phases = worlds.phases(seconds=60 if seed % 5 else 5)
        plan = msgspec.structs.replace(worlds.plan(), defects=["of-the-kubelet"])
        given = worlds.judged(world, plan=plan, phases=phases)
        for check, is_wrong in zip(CHECKS, _compare(world, given), strict=True):
            result = check.judge(given)
            if isinstance(result, verdicts.NotExamined):
                assert not world.claims
                continue
            bad = INVALID if seed % 5 else verdicts.Verdict.UNKNOWN
            assert result.verdict is (bad if is_wrong else VALID)
            yield check.name, result.verdict

    kinds = [(check.name, verdict) for check in CHECKS for verdict in (VALID, INVALID)]
    brute_force.agree(compare, *kinds, one_in=20)
