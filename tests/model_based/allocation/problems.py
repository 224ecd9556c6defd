"""Random problems of allocation over all features, small enough to be solved without tricks.

A problem is a cluster with claims that are allocated already, and what happens there: pods come
with claims, devices change or leave their slices, claims go. It depends on its seed alone.
"""

import copy
import dataclasses
from typing import Any

from tests.model_based.allocation import dice, drawn_claims, drawn_slices
from tests.support import api_objects

Object = dict[str, Any]
DRIVERS = ("a.example.com", "b.example.com")
NODES = [
    api_objects.node("n0", labels={"zone": "z", "half": "z0"}),
    api_objects.node("n1", labels={"zone": "z"}),
]
GONE = "gone"
"""Name of a device that has left its slice."""


@dataclasses.dataclass(frozen=True)
class Pod:
    """A pod comes, with claims of its own, and perhaps one that is there already."""

    name: str
    own: tuple[Object, ...]
    used: tuple[str, ...]
    """Names of claims that are there already."""


@dataclasses.dataclass(frozen=True)
class SliceChange:
    """A slice becomes another one."""

    old: Object
    new: Object


@dataclasses.dataclass(frozen=True)
class ClaimGoes:
    """A claim that was allocated from the start is deleted."""

    name: str


Step = Pod | SliceChange | ClaimGoes


class Problem:
    """A cluster and what happens in it."""

    def __init__(self, seed: int) -> None:
        self._dice = dice.Dice(seed)
        self.features = self._dice.features
        self.nodes = NODES[: self._dice.one_of((1, 2))]
        self.classes = drawn_claims.classes()
        self.slices: list[Object] = []
        self.claims: list[Object] = []
        """Those that are allocated from the start."""
        self._number = 0
        for driver in DRIVERS[: self._dice.one_of((1, 1, 2))]:
            self._add_pool(driver)
        self.steps: list[Step] = list(self._steps())

    def _add_pool(self, driver: str) -> None:
        name = self._dice.one_of(("p", "p", "q"))
        drawn = drawn_slices.PoolDrawing(self._dice, driver, name, 5 if driver == DRIVERS[0] else 3)
        self.slices += drawn.slices
        for item in drawn.devices:
            if self._dice.sometimes("device in use", 5):
                self._hold(driver, name, item)
        if self._dice.sometimes("device in use has left its slice", 15):
            self._hold(driver, name, {"name": GONE})

    # ------------------------------------------------------------------- claims from the start

    def _hold(self, driver: str, pool: str, item: Object) -> None:
        row: Object = {"request": "r", "driver": driver, "pool": pool, "device": item["name"]}
        was_shared = bool(item.get("allowMultipleAllocations"))
        if self._dice.sometimes("device in use has become shared, or exclusive", 8):
            was_shared = not was_shared
        for number in range(self._dice.number(1, 2) if was_shared else 1):
            self._add_held(row | self._share(item, number) if was_shared else row)
        if self._dice.sometimes("device in use for admin access", 8):
            self._add_held(row | {"adminAccess": True})

    def _share(self, item: Object, number: int) -> Object:
        share: Object = {"shareID": f"00000000-0000-4000-8000-0000000000{self._number:02}"}
        if not item.get("capacity") or self._dice.sometimes("share without amounts", 4):
            return share
        amount = self._dice.one_of(("1", "500m", "0", "1", "-1"))
        return share | {"consumedCapacity": {"mem": amount}}

    def _add_held(self, row: Object) -> None:
        self._number += 1
        allocation: Object = {"devices": {"results": [row]}}
        if self._dice.number(0, 1):
            allocation["nodeSelector"] = self._selector()
        name = f"held-{self._number}"
        self.claims.append(api_objects.claim(name, version=1, allocated=allocation))

    def _selector(self) -> Object:
        if self._dice.sometimes("claim in use of several nodes", 2):
            term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z"]}]}
        else:
            name = self._dice.one_of(("n0", "n0", "n1"))
            term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        return {"nodeSelectorTerms": [term]}

    # ------------------------------------------------------------------- what happens

    def _steps(self) -> list[Step]:
        found: list[Step] = []
        for number in range(self._dice.one_of((1, 1, 2, 3))):
            if number and self._dice.sometimes("slice changes", 2):
                found.append(self._change())
            if number and self.claims and self._dice.sometimes("claim goes", 3):
                found.append(ClaimGoes(self._dice.one_of(self.claims)["metadata"]["name"]))
            found.append(self._pod(number))
        return found

    def _pod(self, number: int) -> Pod:
        count = self._dice.one_of((1, 1, 2))
        own = [drawn_claims.claim(self._dice, f"c{number}-{index}") for index in range(count)]
        used: list[str] = []
        if self.claims and self._dice.sometimes("claim in use and one of its own", 5):
            used = [self._dice.one_of(self.claims)["metadata"]["name"]]
        if count > 1:
            self.features["several claims of a pod"] += 1
        return Pod(f"pod-{number}", tuple(own), tuple(used))

    def _change(self) -> SliceChange:
        """Change a device of a slice in place, or let it leave; later changes build on it."""
        index = self._dice.one_of(range(len(self.slices)))
        old = self._latest(index)
        new = copy.deepcopy(old)
        new["metadata"]["resourceVersion"] = str(int(old["metadata"]["resourceVersion"]) + 1)
        if new["spec"].get("devices"):
            self._change_device(new["spec"]["devices"])
        else:
            counters = new["spec"].get("sharedCounters", [{"counters": {"mem": {}}}])[0]["counters"]
            counters["mem"] = {"value": self._dice.one_of(("1", "4", "40Gi"))}
        self._changed[index] = new
        return SliceChange(old, new)

    def _latest(self, index: int) -> Object:
        if not hasattr(self, "_changed"):
            self._changed: dict[int, Object] = {}
        return self._changed.get(index, self.slices[index])

    def _change_device(self, listed: list[Object]) -> None:
        drawn, item = self._dice, self._dice.one_of(listed)
        kind = drawn.named(
            "change", drawn.one_of(("shared", "shared", "leaves", "leaves", "taint"))
        )
        if kind == "shared":
            drawn.features["device becomes shared, or exclusive"] += 1
            item["allowMultipleAllocations"] = not item.get("allowMultipleAllocations")
            for entry in item.get("capacity", {}).values():
                entry.pop("requestPolicy", None)  # only shared devices may have one
        elif kind == "leaves":
            drawn.features["device leaves its slice"] += 1
            listed.remove(item)
        else:
            item["taints"] = [{"key": "k", "effect": "NoSchedule", "value": "v"}]
