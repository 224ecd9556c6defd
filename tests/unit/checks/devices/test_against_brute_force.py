"""The checks of allocations against judges that look at every version of everything by themselves.

The judges here read plain documents, one allocation at a time, and know selectors as functions of
Python. They share no code with the checks.
"""

import dataclasses
import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from harness.checks import verdicts
from harness.checks.devices import granted_devices, reachable_devices, requested_devices
from harness.history import plans
from tests.histories import building, placements
from tests.histories.placements import (
    claim,
    device_class,
    exactly,
    gone,
    listed,
    node,
    on,
    opaque,
    piece,
)
from tests.support import brute_force

Object = dict[str, Any]
_NUMA = f"device.attributes['{placements.DRIVER}'].numa"
SELECTORS: dict[str, Callable[[Object], bool]] = {
    f"{_NUMA} == 0": lambda device: device.get("attributes", {}).get("numa") == {"int": 0},
    f"{_NUMA} > 0": lambda device: device.get("attributes", {}).get("numa", {}).get("int", 0) > 0,
    f"has({_NUMA})": lambda device: "numa" in device.get("attributes", {}),
}
TOLERATION: Object = {"key": "k", "operator": "Exists"}
POLICIES: list[Object] = [
    {"default": "1"},
    {"default": "2", "validValues": ["2"]},
    {"default": "1", "validRange": {"min": "1", "max": "1", "step": "1"}},
    {"default": "2", "validRange": {"min": "2"}},
]
PLACES: list[Object] = [{"nodeName": "n1"}, {"nodeName": "n2"}, {"allNodes": True}]
PLACES.append({"nodeSelector": placements.labelled("zone", "a")})
NODE_SELECTORS: list[Object | None] = [None, on("n1"), on("n2"), on("n1", "n2"), on("n9")]
NODE_SELECTORS.append(placements.labelled("zone", "a"))


# ------------------------------------------------------------------------------ histories


class _Drawn:
    """A small random history."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.events: list[placements.Event] = []

    def draw(self) -> "_Drawn":
        self.events += [listed(node(name, zone=self._one("ab"))) for name in ("n1", "n2")]
        self.events += [listed(self._class()), listed(self._slice("s")), listed(self._slice("t"))]
        for number in range(self._random.randint(1, 5)):
            draws = [self._class, self._node, self._changed_slice, self._withdrawn_slice]
            self.events.append(self._one(draws)() if self._maybe() else self._claim(number))
        return self

    def _one(self, items: Sequence[Any]) -> Any:
        return items[self._random.randrange(len(items))]

    def _maybe(self) -> bool:
        return self._random.random() < 0.4

    def _class(self) -> placements.Event:
        config = [opaque("house")] if self._random.random() < 0.1 else []
        return device_class(*([self._one([*SELECTORS])] if self._maybe() else []), config=config)

    def _node(self) -> placements.Event:
        return node(self._one(["n1", "n2"]), zone=self._one("ab"))

    def _device(self, name: str) -> Object:
        fields: Object = {}
        if not self._maybe():
            fields["attributes"] = {"numa": self._random.randint(0, 1)}
        if self._maybe():
            fields |= {"allowMultipleAllocations": True, "capacity": {"memory": "2"}}
        if self._random.random() < 0.1:
            fields["bindsToNode"] = True
        if self._random.random() < 0.1:
            fields["bindingConditions"] = [self._one(["ready", "warm"])]
        made = placements.device(name, **fields)
        if "memory" in made["capacity"] and self._maybe():
            made["capacity"]["memory"]["requestPolicy"] = self._one(POLICIES)
        return made

    def _slice(self, name: str) -> placements.Event:
        names = ["D1", "D2"] if name == "s" else self._one([["D3"], ["D3"], ["D1", "D3"]])
        return piece(
            *map(self._device, names),
            pool="pool",
            name=name,
            generation=1 + (self._random.random() < 0.2),
            count=self._one([1, 2, 2, 2]),
            **self._one(PLACES),
        )

    def _changed_slice(self) -> placements.Event:
        return self._slice(self._one("st"))

    def _withdrawn_slice(self) -> placements.Event:
        return gone(self._slice(self._one("st")))

    def _claim(self, number: int) -> placements.Event:
        requests = [self._request(name) for name in ("r", "q")[: self._random.randint(1, 2)]]
        names = (
            [*self._names(requests), "z"] if self._random.random() < 0.1 else self._names(requests)
        )
        results = [self._result(self._one(names)) for _ in range(self._random.randint(1, 3))]
        constraints: list[dict[str, Any]] = []
        if self._maybe():
            kind = self._one(["matchAttribute", "distinctAttribute"])
            constraints.append({kind: f"{placements.DRIVER}/numa"})
            if self._maybe():
                constraints[0]["requests"] = ["r"]
        return claim(
            f"c{number}",
            *results,
            requests=requests,
            constraints=constraints,
            selector=self._one(NODE_SELECTORS),
            config=(config := self._config(names)),
            copied=self._copied(config),
        )

    def _config(self, names: Sequence[str]) -> list[Object]:
        if self._random.random() < 0.8:
            return []
        return [opaque("mine", *self._one([[], ["r"], [self._one(names)]]))]

    def _copied(self, config: Sequence[Object]) -> list[Object]:
        """Mostly right for one of the requests, sometimes not."""
        copied = [{"source": "FromClaim", **item} for item in config]
        if self._random.random() < 0.1:
            copied.insert(0, opaque("house", *self._one([[], ["r"]]), source="FromClass"))
        if copied and self._random.random() < 0.2:
            copied[-1] = copied[-1] | self._one([{"source": "FromClass"}, {"requests": ["q"]}])
        return copied * self._one([1, 1, 2])

    def _request(self, name: str) -> Object:
        if self._random.random() < 0.2:
            alternatives = [{"name": "x", **placements.option(count=2)}]
            alternatives.append({"name": "y", **placements.option()})
            return {"name": name, "firstAvailable": alternatives}
        fields: Object = {}
        if self._maybe():
            fields["adminAccess"] = True
        if self._random.random() < 0.2:
            fields["tolerations"] = [TOLERATION]
        if self._maybe():
            fields["count"] = 2
        if self._maybe():
            fields["capacity"] = {"requests": {"memory": self._one("12")}}
        return exactly(name, *([self._one([*SELECTORS])] if self._maybe() else []), **fields)

    def _names(self, requests: Sequence[Object]) -> list[str]:
        return [
            name
            for item in requests
            for name in (
                [f"{item['name']}/{sub['name']}" for sub in item["firstAvailable"]]
                if "firstAvailable" in item
                else [item["name"]]
            )
        ]

    def _result(self, request: str) -> Object:
        fields: Object = {"adminAccess": True} if self._maybe() else {}
        if self._random.random() < 0.2:
            fields["tolerations"] = [TOLERATION]
        if self._random.random() < 0.1:
            fields["bindingConditions"] = [self._one(["ready", "warm"])]
        if self._maybe():
            fields["shareID"] = self._one("12")
            if self._maybe():
                fields["consumedCapacity"] = {"memory": self._one("123")}
        name = self._one(["D1", "D2", "D3", "D1", "D2", "D3", "D4"])
        return placements.result(name, pool="pool", request=request, **fields)


# ------------------------------------------------------------------------------ the judges


@dataclasses.dataclass(frozen=True)
class _Case:
    """One allocation with everything that there was before it."""

    claim: Object
    past: Sequence[placements.Event]

    @property
    def results(self) -> list[Object]:
        found: list[Object] = self.claim["status"]["allocation"]["devices"]["results"]
        return found

    @property
    def options(self) -> dict[str, Object]:
        found = {}
        for request in self.claim["spec"]["devices"]["requests"]:
            if "exactly" in request:
                found[request["name"]] = request["exactly"]
            for sub in request.get("firstAvailable", ()):
                found[f"{request['name']}/{sub['name']}"] = sub
        return found

    def versions(self, kind: str) -> Iterator[Object]:
        for event in self.past:
            if event.obj["kind"] == kind and event.type != "DELETED":
                yield event.obj

    def devices(self, name: str) -> list[Object]:
        return [
            {**device, "place": {k: v for k, v in piece["spec"].items() if k in ("nodeName", "nodeSelector", "allNodes")}}
            for piece in self.versions("ResourceSlice")
            for device in piece["spec"]["devices"]
            if device["name"] == name
        ]  # fmt: skip

    @property
    def has_unknown(self) -> bool:
        return not all(self.devices(result["device"]) for result in self.results)


def _cases(events: Sequence[placements.Event]) -> Iterator[_Case]:
    for index, event in enumerate(events):
        if event.obj["kind"] == "ResourceClaim":
            yield _Case(event.obj, events[:index])


Answer = bool | None
"""True: it is wrong; None: that is not known."""


def _selected(case: _Case) -> Answer:
    answers: list[Answer] = []
    for result in case.results:
        option = case.options.get(result["request"])
        devices = case.devices(result["device"])
        if option is None or not devices:
            answers.append(None)
            continue
        fits = False
        for device, known in itertools.product(devices, case.versions("DeviceClass")):
            selectors = [*known["spec"]["selectors"], *option["selectors"]]
            fits |= all(SELECTORS[item["cel"]["expression"]](device) for item in selectors)
        answers.append(not fits)
    return True if True in answers else None if None in answers else False


def _constrained(case: _Case) -> Answer:
    constraints = case.claim["spec"]["devices"]["constraints"]
    if not constraints:
        return None
    for constraint in constraints:
        only = constraint.get("requests")
        rows = [
            row
            for row in case.results
            if not only or row["request"] in only or row["request"].split("/")[0] in only
        ]
        choices = [case.devices(row["device"]) for row in rows]
        if not all(choices):
            return None
        if not any(_agree(constraint, chosen) for chosen in itertools.product(*choices)):
            return True
    return False


def _agree(constraint: Object, chosen: Sequence[Object]) -> bool:
    values = [device.get("attributes", {}).get("numa") for device in chosen]
    if None in values:
        return False
    if "matchAttribute" in constraint:
        return all(value == values[0] for value in values)
    return all(one != two for one, two in itertools.combinations(values, 2))


def _requested(case: _Case) -> Answer:
    got = [row["request"] for row in case.results]
    if set(got) - set(case.options):
        return True
    for request in case.claim["spec"]["devices"]["requests"]:
        name = request["name"]
        subs = {f"{name}/{sub['name']}": sub for sub in request.get("firstAvailable", ())}
        chosen = [sub for sub in subs if sub in got] if subs else [name]
        if len(chosen) != 1 or got.count(chosen[0]) != case.options[chosen[0]].get("count", 1):
            return True
    return False


def _access(case: _Case) -> Answer:
    if any(row["request"] not in case.options for row in case.results):
        return None
    return any(
        row.get("adminAccess", False) != case.options[row["request"]].get("adminAccess", False)
        for row in case.results
    )


def _shared(case: _Case) -> Answer:
    for row in case.results:  # an unknown device hides what comes after it
        if not case.devices(row["device"]):
            return None
    return any(
        all(not _is_good_share(case, row, device) for device in case.devices(row["device"]))
        for row in case.results
    )


def _is_good_share(case: _Case, row: Object, device: Object) -> bool:
    is_share, is_admin = "shareID" in row, row.get("adminAccess", False)
    is_shareable, consumed = (
        device.get("allowMultipleAllocations", False),
        row.get("consumedCapacity"),
    )
    if (is_share and not is_shareable) or (consumed and not is_share):
        return False
    if is_shareable and not (is_share or is_admin):
        return False
    if row["request"] not in case.options:
        return True
    wanted = case.options[row["request"]].get("capacity", {}).get("requests", {}).get("memory")
    if "memory" not in device["capacity"]:
        return not wanted
    takes = _takes(device["capacity"]["memory"].get("requestPolicy", {}), wanted)
    if wanted and takes is None:
        return False
    if not is_share or (is_admin and not consumed):
        return True
    return takes is not None and (consumed or {}).get("memory") == str(takes)


def _takes(policy: Object, wanted: str | None) -> int | None:
    """Try each amount of the device, which has 2; None: it has not enough."""
    if wanted is None:
        return int(policy.get("default", "2"))
    valid = policy.get("validRange", {})
    for amount in (1, 2):
        fits = amount >= int(wanted) and amount >= int(valid.get("min", "0"))
        fits &= amount <= int(valid.get("max", "2"))
        if fits and str(amount) in policy.get("validValues", "12"):
            return amount
    return None


def _reachable(case: _Case) -> Answer:
    if case.has_unknown:
        return None
    selector = case.claim["status"]["allocation"].get("nodeSelector")
    admitted = []
    for name in ("n1", "n2"):
        labels = [
            item["metadata"]["labels"]
            for item in case.versions("Node")
            if item["metadata"]["name"] == name
        ]
        admitting = [item for item in labels if _admits(selector, name, item)]
        if admitting:
            admitted.append(name)
            for row in case.results:
                places = [device["place"] for device in case.devices(row["device"])]
                if not any(_reaches(place, name, item) for place in places for item in admitting):
                    return True
    return not admitted or not _is_derived(case, selector)


def _is_derived(case: _Case, selector: Object | None) -> bool:
    """Compare the selector with each choice of versions, on any node that one can think of."""
    choices = itertools.product(*(case.devices(row["device"]) for row in case.results))
    return any(_is_of(selector, chosen) for chosen in choices)


def _is_of(selector: Object | None, chosen: Sequence[Object]) -> bool:
    local = {device["place"]["nodeName"] for device in chosen if "nodeName" in device["place"]}
    bound = any(device.get("bindsToNode") for device in chosen)
    by_labels = selector is not None and "matchExpressions" in selector["nodeSelectorTerms"][0]
    if local or bound:
        if selector is None:
            return False
        if by_labels:
            return bool(local)
        named = set(selector["nodeSelectorTerms"][0]["matchFields"][0]["values"])
        return named == local if local else len(named) == 1
    nodes = itertools.product(
        ["n1", "n2", "n9", "other"], [{}, *({"zone": zone} for zone in "abc")]
    )
    return all(
        _admits(selector, name, labels)
        is all(_reaches(device["place"], name, labels) for device in chosen)
        for name, labels in nodes
    )


def _admits(selector: Object | None, name: str, labels: Object) -> bool:
    if selector is None:
        return True
    [term] = selector["nodeSelectorTerms"]
    if "matchFields" in term:
        return name in term["matchFields"][0]["values"]
    return labels.get("zone") in term["matchExpressions"][0]["values"]


def _reaches(place: Object, name: str, labels: Object) -> bool:
    if "nodeSelector" in place:
        return _admits(place["nodeSelector"], name, labels)
    return place.get("nodeName") == name or place.get("allNodes", False)


def _copied(case: _Case) -> Answer:
    if any(row["request"] not in case.options for row in case.results) or case.has_unknown:
        return None
    for row in case.results:
        if row.get("tolerations") != case.options[row["request"]].get("tolerations"):
            return True
        published = [device.get("bindingConditions") for device in case.devices(row["device"])]
        if row.get("bindingConditions") not in published:
            return True
    for name in {row["request"] for row in case.results}:
        devices = case.claim["spec"]["devices"]
        mine = [{"source": "FromClaim", **item} for item in devices.get("config", ())]
        classes = [
            [{"source": "FromClass", **item} for item in known["spec"].get("config", ())]
            for known in case.versions("DeviceClass")
        ]
        got = _read_by(name, case.claim["status"]["allocation"]["devices"].get("config", ()))
        if got not in [_read_by(name, [*of_class, *mine]) for of_class in classes]:
            return True
    return _has_too_often(case.claim)


def _has_too_often(claim: Object) -> bool:
    """Return whether the allocation repeats an entry of the claim's configuration."""
    known = [{"source": "FromClaim", **item} for item in claim["spec"]["devices"].get("config", ())]
    got = [*claim["status"]["allocation"]["devices"].get("config", ())]
    return any(got.count(item) > known.count(item) for item in known)


def _read_by(name: str, entries: Sequence[Object]) -> list[tuple[str, str]]:
    """The configuration as the driver of a request's devices reads it."""
    read = [
        (item["source"], item["opaque"]["parameters"]["text"])
        for item in entries
        if "requests" not in item or {name, name.partition("/")[0]} & {*item["requests"]}
    ]
    return [*dict.fromkeys(read)]


def _doubled(case: _Case) -> Answer:
    for one, two in itertools.combinations(case.results, 2):
        if one["device"] != two["device"]:
            continue
        both_shares = "shareID" in one and "shareID" in two
        both_shares &= "adminAccess" not in one and "adminAccess" not in two
        if not (both_shares and one["shareID"] != two["shareID"]):
            return True
    return False


def _missing(case: _Case) -> Answer:
    possible: set[str] = set()
    now: dict[str, Object] = {}
    for event in case.past:
        if event.obj["kind"] == "ResourceSlice":
            now.pop(event.obj["metadata"]["name"], None)
            if event.type != "DELETED":
                now[event.obj["metadata"]["name"]] = event.obj["spec"]
            possible |= {name for spec in now.values() for name in _usable(spec, [*now.values()])}
    return any(row["device"] not in possible for row in case.results)


def _usable(spec: Object, known: Sequence[Object]) -> list[str]:
    def place(item: Object) -> Object:
        return {k: v for k, v in item.items() if k in ("nodeName", "nodeSelector", "allNodes")}

    beside = [it for it in known if place(it) == place(spec) or it.get("allNodes")]
    newest = max(item["pool"]["generation"] for item in beside)
    same = [it for it in known if it["pool"]["generation"] == spec["pool"]["generation"]]
    seen = [it for it in beside if it["pool"]["generation"] == newest]
    names = [device["name"] for item in seen for device in item["devices"]]
    is_complete = any(item["pool"]["resourceSliceCount"] == len(same) for item in same)
    if spec["pool"]["generation"] < newest or not is_complete or len(names) != len(set(names)):
        return []
    return [device["name"] for device in spec["devices"]]


JUDGES: dict[Any, Callable[[_Case], Answer]] = {
    requested_devices.SELECTED_DEVICES: _selected,
    requested_devices.CLAIM_CONSTRAINTS: _constrained,
    requested_devices.REQUESTED_RESULTS: _requested,
    granted_devices.GRANTED_ACCESS: _access,
    granted_devices.GRANTED_SHARES: _shared,
    granted_devices.COPIED_RESULTS: _copied,
    reachable_devices.REACHABLE_DEVICES: _reachable,
    granted_devices.DISTINCT_DEVICES: _doubled,
    reachable_devices.EXISTING_DEVICES: _missing,
}


def test_the_checks_agree_with_judges_that_try_everything() -> None:
    plan = building.plan()
    # The order of alternatives is judged in test_certain_against_brute_force, and not with faults.
    fault = plans.PlannedFault(name="f", kind="delay-events", carrier="server", text="late")
    disturbed = msgspec.structs.replace(plan, faults=[fault])

    def compare(seed: int) -> Iterator[str]:
        events = _Drawn(seed).draw().events
        cases, evidence = list(_cases(events)), placements.evidence(events)
        for check, judge in JUDGES.items():
            answers = [judge(case) for case in cases]
            evidence.plan = disturbed if check is requested_devices.REQUESTED_RESULTS else plan
            found, name = check.judge(evidence), check.name
            examined = len(answers) - answers.count(None)
            if not examined:
                assert isinstance(found, verdicts.NotExamined), name
                continue
            told = found.examined_count, found.violation_count
            assert told == (examined, answers.count(True)), (name, found.reason)
            wrong = [case for case, answer in zip(cases, answers, strict=True) if answer]
            names = [case.claim["metadata"]["name"] for case in wrong]
            assert [item.objects[0].name for item in found.violations] == names, name
            yield from [name] * len(wrong)

    brute_force.agree(compare, *(check.name for check in JUDGES))
