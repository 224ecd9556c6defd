"""Requests for all devices: what a scheduler must have known and used."""

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from harness.checks import verdicts
from harness.checks.devices import device_timelines, requested_devices
from harness.history import plans
from tests.histories import language, placements
from tests.histories.placements import claim, device_class, exactly, gone, listed, on, piece, result
from tests.histories.words import placement_words
from tests.support import brute_force, text_tables

VALID, INVALID = verdicts.Verdict.VALID, verdicts.Verdict.INVALID
Events = Sequence[placements.Event | None]
BEGIN = [listed(device_class()), listed(piece("D1", "D2"))]


def judge(
    events: Events, *, seen: int = 0, plan: plans.Plan | None = None, gap: str = ""
) -> verdicts.CheckResult:
    """The result; `seen` is the version of the slices that the scheduler knew, 0: not known."""
    folded = placements.fold(events)
    for folder in folded.folders if gap else ():
        folder.see_gap(language.gap(gap, 1, 1))
    views = {"c": device_timelines.View(seen)} if seen else {}
    answer = requested_devices.REQUESTED_RESULTS.judge(folded.evidence(plan, views))
    assert isinstance(answer, verdicts.CheckResult), answer
    return answer


# ------------------------------------------------------------------------------ all devices


ONE = claim("c", result("D1"), requests=[exactly(allocationMode="All")], selector=on("n1"))
WORDS: dict[str, Any] = {
    "BEGIN": BEGIN,
    "ONE": ONE,
    "READY": {"bindingConditions": ["ready"]},
    "ROOM": {"allowMultipleAllocations": True, "capacity": {"memory": "2"}},
    "SHAREABLE": {"allowMultipleAllocations": True},
    "TAINT": {"taints": [{"key": "k", "effect": "NoSchedule"}]},
}


def cases(part: str) -> list[Any]:
    return text_tables.cases(__file__, "certain_cases.txt", part)


@pytest.mark.parametrize(("history", "seen", "wrong"), cases("all devices"))
def test_all_devices_are_those_that_the_scheduler_must_have_known(
    history: str, seen: str, wrong: str
) -> None:
    found = judge(placement_words.history(history, WORDS), seen=int(seen))
    assert (found.verdict, found.violation_count) == (INVALID if wrong else VALID, bool(wrong))
    for violation in found.violations:
        assert "asks for all devices and got 1 device, but not gpu.example/n1/D2" in violation.text


@pytest.mark.parametrize("resource", ["resourceslices", "deviceclasses"])
def test_a_gap_may_hide_why_not_all_were_taken(resource: str) -> None:
    assert judge([*BEGIN, ONE], gap=resource).verdict is VALID


def test_of_equal_claims_each_is_judged_by_what_its_scheduler_knew() -> None:
    """The one knew the newest slice, without D2; the other one the slice before, with it."""
    all_of = {"requests": [exactly(allocationMode="All")], "selector": on("n1")}
    events = [*BEGIN, None, None, piece("D1", "D2")]
    events += [claim("a", result("D1"), **all_of), claim("b", result("D1"), **all_of)]
    folded = placements.fold(events)
    for views, wrong in (({"a": 4, "b": 5}, ["b"]), ({"a": 5, "b": 4}, ["a"]), ({"b": 5}, ["b"])):
        known = {name: device_timelines.View(seen) for name, seen in views.items()}
        answer = requested_devices.REQUESTED_RESULTS.judge(folded.evidence(views=known))
        assert isinstance(answer, verdicts.CheckResult)
        assert [item.objects[0].name for item in answer.violations] == wrong


@pytest.mark.parametrize("is_reversed", [False, True])
def test_all_devices_are_asked_for_beside_another_request(is_reversed: bool) -> None:
    """A device that another request got is missing, too."""
    requests = [exactly(allocationMode="All"), exactly("q")]
    results = [result("D1"), result("D2", request="q")]
    event = claim("c", *results, requests=requests[:: -1 if is_reversed else 1], selector=on("n1"))
    found = judge([*BEGIN, event])
    assert "request r asks for all devices and got 1 device, but not" in found.violations[0].text


Object = dict[str, Any]
NUMA = f"device.attributes['{placements.DRIVER}'].numa"
MATCHING = {f"{NUMA} == 0": 0, f"{NUMA} == 1": 1}
"""Selector -> the attribute that it selects."""


# ------------------------------------------------------------------------------ histories


class Drawn:
    """A small random history, and what the scheduler knew when it chose for each claim."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.events: list[placements.Event] = [listed(self._class())]
        self.views: dict[str, int] = {}
        self.events += [
            listed(self._slice(node, name)) for node, name in [("n1", "s"), ("n2", "u")]
        ]
        for number in range(self._random.randint(1, 5)):
            if self._chance(0.35):
                self.events.append(self._change())
            self._claim(f"c{number}")

    def _one(self, items: Sequence[Any]) -> Any:
        return self._random.choice(items)

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _class(self) -> placements.Event:
        return device_class(*([self._one([*MATCHING])] if self._chance(0.1) else []))

    def _slice(self, node: str, name: str) -> placements.Event:
        names = self._random.sample(["D1", "D2", "D3", "D4"], self._random.randint(1, 4))
        place = {"nodeName": node} if self._chance(0.9) else {"allNodes": True}
        return piece(
            *map(self._device, names),
            pool=node,
            name=name,
            generation=1 + self._chance(0.15),
            count=1 + self._chance(0.15),
            **place,
        )

    def _device(self, name: str) -> Object:
        fields: Object = {"attributes": {"numa": int(self._chance(0.3))}}
        if self._chance(0.05):
            fields["taints"] = [{"key": "k", "effect": "NoSchedule"}]
        if self._chance(0.05):
            fields["allowMultipleAllocations"] = True
        return placements.device(name, **fields)

    def _change(self) -> placements.Event:
        if self._chance(0.15):
            return self._class()
        name = self._one(["s", "t", "u"])
        changed = self._slice("n2" if name == "u" else "n1", name)
        return gone(changed) if self._chance(0.15) else changed

    def _claim(self, name: str) -> None:
        request = self._request()
        self.events.append(claim(name, requests=[request]))
        if self._chance(0.2):
            return
        if self._chance(0.3):
            self.events.append(self._change())
        if self._chance(0.5):
            self.views[name] = self._random.randint(1, len(self.events))
        node = self._one(["n1", "n2"])
        got = "r" if "exactly" in request else self._one(["r/x", "r/y", "r/y"])
        names = self._random.sample(["D1", "D2", "D3", "D4"], self._random.randint(1, 3))
        results = [placements.result(item, pool=node, request=got) for item in names]
        places = [on(node), on(node), on(node), on("n1", "n2"), None]
        self.events.append(claim(name, *results, requests=[request], selector=self._one(places)))

    def _request(self) -> Object:
        selectors = [self._one([*MATCHING])] if self._chance(0.3) else []
        if self._chance(0.5):
            return exactly("r", *selectors, allocationMode="All")
        best = placements.option(*selectors, count=self._random.randint(1, 2))
        if self._chance(0.1):
            best = placements.option(allocationMode="All")
        last = placements.option(count=self._random.randint(1, 2))
        return {"name": "r", "firstAvailable": [{"name": "x", **best}, {"name": "y", **last}]}


# ------------------------------------------------------------------------------ the judge


def is_wrong(events: Sequence[placements.Event], at: int, view: int) -> bool:
    """Return whether the claim of an event has too few devices."""
    found = events[at].obj
    allocation = found["status"]["allocation"]
    [request] = found["spec"]["devices"]["requests"]
    got = [row["request"] for row in allocation["devices"]["results"]]
    had = {f"{row['pool']}/{row['device']}" for row in allocation["devices"]["results"]}
    options = {f"r/{sub['name']}": sub for sub in request.get("firstAvailable", ())}
    option = options.get(got[0]) or request["exactly"]
    if option.get("allocationMode") != "All" and len(got) != option["count"]:
        return True
    term = allocation.get("nodeSelector", {}).get("nodeSelectorTerms", [{"matchFields": []}])[0]
    nodes = [name for field in term["matchFields"] for name in field["values"]]
    if len(nodes) != 1:
        return False
    if option.get("allocationMode") != "All":
        return False
    return bool(set(surely(events[:at], view, nodes[0], option)) - had)


def surely(past: Sequence[placements.Event], view: int, node: str, option: Object) -> Iterator[str]:
    """Yield `pool/device` of those that were there at every moment, the pool being the same."""
    for pool in ("n1", "n2"):
        moments = [
            (version, event)
            for version, event in enumerate(past, start=1)
            if event.obj["kind"] == "ResourceSlice" and event.obj["spec"]["pool"]["name"] == pool
        ]
        if any(version > view if view else event.type != "LISTED" for version, event in moments):
            continue
        now: dict[str, Object] = {}
        for _, event in moments:
            now.pop(event.obj["metadata"]["name"], None)
            if event.type != "DELETED":
                now[event.obj["metadata"]["name"]] = event.obj["spec"]
        for name in usable([*now.values()]):
            versions = [
                (device, event.obj["spec"])
                for _, event in moments
                for device in event.obj["spec"]["devices"]
                if device["name"] == name and event.type != "DELETED"
            ]
            if all(fits(device, spec, past, node, option) for device, spec in versions):
                yield f"{pool}/{name}"


def usable(specs: Sequence[Object]) -> Iterator[str]:
    """Yield the devices of a pool that can be allocated; slices of other nodes count for all."""
    for spec in specs:
        beside = [
            item
            for item in specs
            if item.get("nodeName") == spec.get("nodeName") or item.get("allNodes")
        ]
        generation = spec["pool"]["generation"]
        same = [item for item in specs if item["pool"]["generation"] == generation]
        valid = [item for item in beside if item["pool"]["generation"] == generation]
        names = [device["name"] for item in valid for device in item["devices"]]
        if (
            all(item["pool"]["generation"] <= generation for item in beside)
            and len(same) in {item["pool"]["resourceSliceCount"] for item in same}
            and len(names) == len(set(names))
        ):
            yield from (device["name"] for device in spec["devices"])


def fits(
    device: Object, spec: Object, past: Sequence[placements.Event], node: str, option: Object
) -> bool:
    chosen = [
        item["cel"]["expression"]
        for holder in (
            option,
            *(event.obj["spec"] for event in past if event.obj["kind"] == "DeviceClass"),
        )
        for item in holder["selectors"]
    ]
    return (
        spec.get("nodeName") == node
        and not device.get("taints")
        and all(device["attributes"]["numa"] == {"int": MATCHING[text]} for text in chosen)
    )


# ------------------------------------------------------------------------------ both


def test_both_find_the_same() -> None:
    def compare(seed: int) -> Iterator[str]:
        drawn = Drawn(seed)
        folded = placements.fold(drawn.events)
        views = {name: device_timelines.View(version) for name, version in drawn.views.items()}
        answer = requested_devices.REQUESTED_RESULTS.judge(folded.evidence(views=views))
        expected = [
            event.obj["metadata"]["name"]
            for at, event in enumerate(drawn.events)
            if event.obj["kind"] == "ResourceClaim" and "allocation" in event.obj["status"]
            if is_wrong(drawn.events, at, drawn.views.get(event.obj["metadata"]["name"], 0))
        ]
        found = [] if isinstance(answer, verdicts.NotExamined) else answer.violations
        assert [item.objects[0].name for item in found] == expected
        yield from (told for told in KINDS for item in found if told in item.text)

    brute_force.agree(compare, *KINDS)


KINDS = ("asks for all", "instead of")
