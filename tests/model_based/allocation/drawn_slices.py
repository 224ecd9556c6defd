"""Draws the ResourceSlices of one pool: partitions, shared devices, attributes, places."""

from typing import Any

from tests.model_based.allocation import dice

Object = dict[str, Any]
NODES = ("n0", "n1")
KINDS = ("x", "y")
NUMA = "host.example.com/numa"
"""An attribute that all drivers know."""
CONDITION = "example.com/attached"
PROFILES = (1, 1, 1, 2, 2, 3, 4)
"""Sizes of partitions, in places of their counter set."""
PLACES = 4
UNITS = ("1", "500m", "10Gi", "0", "100Ti")
"""Amounts that one place has of the counter `mem`."""
LARGE = "9223372036854775807"
"""The largest amount that Kubernetes' int64 holds."""


class PoolDrawing:
    """One pool of a driver; `slices` and `devices` are what was drawn."""

    def __init__(self, drawn: dice.Dice, driver: str, name: str, devices_max: int) -> None:
        self._dice, self._driver, self._name = drawn, driver, name
        self._sets = drawn.one_of((1, 1, 2)) if drawn.sometimes("partitions", 2) else 0
        if self._sets > 1:
            drawn.features["several counter sets"] += 1
        self._unit = drawn.one_of(UNITS)
        self.devices = [self._device(index) for index in range(drawn.number(1, devices_max))]
        self.slices: list[Object] = []
        self._add_slices()

    # ------------------------------------------------------------------- slices

    def _add_slices(self) -> None:
        drawn, listed = self._dice, self.devices
        cut = drawn.number(0, len(listed)) if drawn.sometimes("two slices", 3) else 0
        parts = [part for part in (listed[:cut], listed[cut:]) if part]
        count = len(parts) + bool(self._sets) + drawn.sometimes("incomplete pool", 20)
        if len(parts) == 2 and drawn.sometimes("doubled device", 6):
            parts[1][0]["name"] = parts[0][0]["name"]
        place = self._place()
        for index, part in enumerate(parts):
            if index and drawn.sometimes("slices of several nodes", 3):
                place = self._place()
            self._add_slice(f"s{index}", count, place, devices=part)
        if self._sets:
            self._add_slice("s9", count, {"allNodes": True}, sharedCounters=self._counter_sets())
        if drawn.sometimes("older generation", 8):
            old = {"name": "old", "attributes": {"kind": {"string": "x"}}}
            self._add_slice("old", 1, self._device_place(), generation=1, devices=[old])

    def _add_slice(
        self, name: str, count: int, place: Object, generation: int = 2, **content: Any
    ) -> None:
        pool = {"name": self._name, "generation": generation, "resourceSliceCount": count}
        if place.get("perDeviceNodeSelection"):
            for item in content["devices"]:
                item |= self._device_place()
        spec = {"driver": self._driver, "pool": pool, **place, **content}
        meta = {"name": f"{self._driver}-{self._name}-{name}", "uid": f"{len(self.slices)}"}
        meta["resourceVersion"] = "1"
        self.slices.append({"kind": "ResourceSlice", "metadata": meta, "spec": spec})

    def _place(self) -> Object:
        if self._dice.sometimes("devices that name their nodes", 6):
            return {"perDeviceNodeSelection": True}
        return self._device_place()

    def _device_place(self) -> Object:
        if self._dice.sometimes("all nodes", 4):
            return {"allNodes": True}
        if self._dice.sometimes("node selector", 4):
            zone = self._dice.one_of(("z", "z", "z0", "other"))
            key = "zone" if zone != "z0" else "half"
            term = {"matchExpressions": [{"key": key, "operator": "In", "values": [zone]}]}
            return {"nodeSelector": {"nodeSelectorTerms": [term]}}
        return {"nodeName": self._dice.one_of((*4 * ["n0"], "n1", "n1", "m"))}

    def _counter_sets(self) -> list[Object]:
        """The counters of whole devices, each a set; now and then one place too few."""
        places = {f"place-{index}": {"value": "1"} for index in range(PLACES)}
        amount = _times(self._unit, PLACES - self._dice.sometimes("too little of a counter", 3))
        return [
            {"name": f"g{index}", "counters": {**places, "mem": {"value": amount}}}
            for index in range(self._sets)
        ]

    # ------------------------------------------------------------------- devices

    def _device(self, index: int) -> Object:
        drawn = self._dice
        made: Object = {"name": f"d{index}", "attributes": self._attributes()}
        if drawn.sometimes("taint", 7):
            effect = drawn.one_of(("NoSchedule", "NoExecute", "None"))
            made["taints"] = [{"key": drawn.one_of(("k", "l")), "effect": effect, "value": "v"}]
        if self._sets and drawn.number(0, 4):
            made["consumesCounters"] = self._consumed()
        if drawn.sometimes("binds to node", 12):
            made["bindsToNode"] = True
        if drawn.sometimes("binding conditions", 12):
            made |= {
                "bindingConditions": [CONDITION],
                "bindingFailureConditions": ["example.com/b"],
            }
        if drawn.sometimes("device with capacity", 2):
            is_shared = drawn.sometimes("shared device", 2)
            made["capacity"] = self._capacity(is_shared=is_shared)
            if is_shared:
                made["allowMultipleAllocations"] = True
                if "consumesCounters" in made:
                    drawn.features["shared device with counters"] += 1
        elif drawn.sometimes("shared device without capacity", 12):
            made["allowMultipleAllocations"] = True
        return made

    def _attributes(self) -> Object:
        drawn = self._dice
        made: Object = {"kind": {"string": drawn.one_of(KINDS)}}
        if drawn.sometimes("int attribute", 2):
            made["cores"] = {"int": drawn.number(1, 3)}
        if drawn.sometimes("bool attribute", 3):
            made["ready"] = {"bool": drawn.one_of((True, False))}
        if drawn.sometimes("version attribute", 3):
            made["version"] = {"version": drawn.one_of(("1.2.0", "1.10.0", "2.0.0"))}
        if drawn.number(0, 8):
            made[NUMA] = self._numa()
        return made

    def _numa(self) -> Object:
        if self._dice.sometimes("list attribute", 4):
            return {"ints": self._dice.some_of(range(3), self._dice.number(1, 2))}
        if self._dice.sometimes("attribute of two types", 12):
            return {"string": "0"}
        return {"int": self._dice.number(0, 1)}

    def _consumed(self) -> list[Object]:
        """Adjoining places of one or both sets, as the profiles of a partitioned GPU have them."""
        drawn = self._dice
        chosen = drawn.some_of(range(self._sets), drawn.number(1, self._sets))
        return [{"counterSet": f"g{number}", "counters": self._profile()} for number in chosen]

    def _profile(self) -> Object:
        drawn = self._dice
        size = drawn.one_of(PROFILES)
        start = drawn.number(0, PLACES - size)
        taken = {f"place-{index}": {"value": "1"} for index in range(start, start + size)}
        if drawn.sometimes("profile without places", 3):
            taken = {}
        amount = _times(self._unit, size)
        if drawn.sometimes("negative consumption", 30):
            amount = "-1"
        return {**taken, "mem": {"value": amount}}

    # ------------------------------------------------------------------- capacity

    def _capacity(self, *, is_shared: bool) -> Object:
        drawn = self._dice
        if drawn.sometimes("large amount", 10):
            return {"mem": {"value": drawn.one_of((LARGE, "8Ei", "9E"))}}
        value = drawn.one_of(("2", "4", "5", "8", "2500m", "3Gi"))
        made: Object = {"mem": {"value": value, **(self._policy(value) if is_shared else {})}}
        if drawn.sometimes("second capacity", 4):
            made["bandwidth"] = {"value": "10"}
        return made

    def _policy(self, value: str) -> Object:
        drawn = self._dice
        if value in ("3Gi", "2500m") or not drawn.sometimes("request policy", 1):
            return {}
        if drawn.sometimes("valid values", 3):
            return {"requestPolicy": {"default": "2", "validValues": ["500m", "2"]}}
        if drawn.sometimes("range at milli scale", 2):
            limits = {"min": "500m", "max": "2", "step": drawn.one_of(("250m", "300m"))}
            return {"requestPolicy": {"default": "500m", "validRange": limits}}
        if drawn.sometimes("valid range", 2):
            limits = {"min": "1", "max": "2", "step": "1"}
            return {"requestPolicy": {"default": "1", "validRange": limits}}
        return {"requestPolicy": {"default": drawn.one_of(("1", "0"))}}


def _times(unit: str, count: int) -> str:
    digits = unit.rstrip("mGTi")
    return f"{int(digits) * count}{unit[len(digits) :]}"
