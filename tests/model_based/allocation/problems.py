"""Random problems of allocation over all features, small enough to be solved without tricks."""

import collections
import random
from typing import Any

from tests.support import api_objects

Object = dict[str, Any]
DRIVERS = ("a.example.com", "b.example.com")
NODE = api_objects.node("n", labels={"zone": "z"})
KINDS = ("x", "y")
NUMA = "host.example.com/numa"
"""An attribute that both drivers know."""


class Problem:
    """Slices, what is allocated, and claims; `features` counts what occurs in them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.features: collections.Counter[str] = collections.Counter()
        self.slices: list[Object] = []
        self.allocated: dict[str, list[Object]] = {}
        """By device the capacities that its shares consume; no share: one claim has it."""
        self._devices_left = 5
        for driver in DRIVERS[: self._random.choice((1, 1, 2))]:
            self._add_pool(driver)
        self.claims = [self._claim(index) for index in range(self._random.choice((1, 1, 2)))]

    def _sometimes(self, feature: str, one_in: int) -> bool:
        """Return True once in a while, and count the feature then."""
        if self._random.randrange(one_in):
            return False
        self.features[feature] += 1
        return True

    # ------------------------------------------------------------------- slices

    def _add_pool(self, driver: str) -> None:
        counters = self._sometimes("shared counters", 3)
        listed = [
            self._device(index, counters=counters)
            for index in range(self._random.randint(1, self._devices_left))
        ]
        self._devices_left -= len(listed) - 1
        place = self._place()
        cut = self._random.randint(0, len(listed)) if self._sometimes("two slices", 3) else 0
        parts = [part for part in (listed[:cut], listed[cut:]) if part]
        count = len(parts) + counters + self._sometimes("incomplete pool", 15)
        if len(parts) == 2 and self._sometimes("doubled device", 4):
            parts[1][0]["name"] = parts[0][0]["name"]
        for index, part in enumerate(parts):
            self._add_slice(driver, f"s{index}", count, place, devices=part)
        if counters:
            amount = str(self._random.randint(2, 8))
            sets = [{"name": "g", "counters": {"mem": {"value": amount}}}]
            self._add_slice(driver, "s9", count, place, sharedCounters=sets)
        if self._sometimes("older generation", 6):
            old = [self._device(0, counters=False) | {"name": "old"}]
            self._add_slice(driver, "old", 1, place, generation=1, devices=old)
        for item in listed:
            self._allocate(driver, item)

    def _add_slice(
        self,
        driver: str,
        name: str,
        count: int,
        place: Object,
        generation: int = 2,
        **content: Any,
    ) -> None:
        pool = {"name": "p", "generation": generation, "resourceSliceCount": count}
        if "sharedCounters" in content:
            place = {"allNodes": True}
        elif place.get("perDeviceNodeSelection"):
            for item in content["devices"]:
                item |= self._device_place()
        spec = {"driver": driver, "pool": pool, **place, **content}
        meta = {"name": f"{driver}-{name}"}
        self.slices.append({"kind": "ResourceSlice", "metadata": meta, "spec": spec})

    def _place(self) -> Object:
        if self._sometimes("devices that name their nodes", 6):
            return {"perDeviceNodeSelection": True}
        return self._device_place()

    def _device_place(self) -> Object:
        if self._sometimes("all nodes", 4):
            return {"allNodes": True}
        if self._sometimes("node selector", 4):
            zone = "z" if self._random.randrange(4) else "other"
            term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
            return {"nodeSelector": {"nodeSelectorTerms": [term]}}
        return {"nodeName": "n" if self._random.randrange(8) else "m"}

    def _device(self, index: int, *, counters: bool) -> Object:
        made: Object = {"name": f"d{index}"}
        made["attributes"] = {"kind": {"string": self._random.choice(KINDS)}}
        if self._random.randrange(5):
            made["attributes"][NUMA] = self._numa()
        if self._sometimes("taint", 6):
            effect = self._random.choice(("NoSchedule", "NoExecute", "None"))
            made["taints"] = [{"key": "k", "effect": effect}]
        if counters and self._random.randrange(4):
            amount = {"mem": {"value": str(self._random.randint(1, 5))}}
            made["consumesCounters"] = [{"counterSet": "g", "counters": amount}]
        if self._sometimes("binds to node", 10):
            made["bindsToNode"] = True
        if self._sometimes("device with capacity", 3):
            made["capacity"] = {"mem": {"value": str(self._random.randint(2, 9))}}
            if self._sometimes("shared device", 2):
                made["allowMultipleAllocations"] = True
                made["capacity"]["mem"] |= self._policy()
        return made

    def _numa(self) -> Object:
        if self._sometimes("list attribute", 4):
            return {"ints": sorted(self._random.sample(range(3), self._random.randint(1, 2)))}
        return {"int": self._random.randrange(2)}

    def _policy(self) -> Object:
        if self._sometimes("valid range", 3):
            return {
                "requestPolicy": {
                    "default": "1",
                    "validRange": {"min": "1", "max": "7", "step": "2"},
                }
            }
        if self._sometimes("valid values", 3):
            return {"requestPolicy": {"default": "2", "validValues": ["2", "4"]}}
        return {}

    def _allocate(self, driver: str, item: Object) -> None:
        if not self._sometimes("device in use", 5):
            return
        shares = self.allocated[f"{driver}/p/{item['name']}"] = []
        if item.get("allowMultipleAllocations"):
            shares.append({"mem": "1"})

    # ------------------------------------------------------------------- claims

    def _claim(self, index: int) -> Object:
        requests = [self._request(f"r{number}") for number in range(self._random.choice((1, 1, 2)))]
        constraints = []
        if self._random.randrange(2):
            key = self._random.choice(("matchAttribute", "distinctAttribute"))
            self.features[key] += 1
            constraint: Object = {key: NUMA}
            if self._sometimes("constraint for some requests", 3):
                constraint["requests"] = [self._random.choice(requests)["name"]]
            constraints.append(constraint)
        return api_objects.claim(f"c{index}", requests=requests, constraints=constraints)

    def _request(self, name: str) -> Object:
        if self._sometimes("alternatives", 3):
            subs = [{"name": f"s{index}", **self._option()} for index in range(2)]
            return {"name": name, "firstAvailable": subs}
        admin = {"adminAccess": True} if self._sometimes("admin access", 6) else {}
        return {"name": name, "exactly": self._option() | admin}

    def _option(self) -> Object:
        made: Object = {"deviceClassName": api_objects.CLASS}
        if self._sometimes("all devices", 5):
            made["allocationMode"] = "All"
        else:
            made["count"] = self._random.choice((1, 1, 2, 3))
        if self._sometimes("selector", 3):
            kind = self._random.choice(KINDS)
            text = f'device.attributes[device.driver].kind == "{kind}"'
            made["selectors"] = [{"cel": {"expression": text}}]
        if self._sometimes("toleration", 3):
            made["tolerations"] = [{"key": "k", "operator": "Exists"}]
        if self._sometimes("capacity request", 4):
            made["capacity"] = {"requests": {"mem": str(self._random.randint(1, 5))}}
        return made
