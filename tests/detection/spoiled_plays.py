"""Random claims that an allocator fulfils, as a recorder writes them down for the checks of copies.

Each history has every field that can be spoiled: tolerations, binding conditions, configuration,
shares with request policies, admin access, alternatives, and devices of one node and of several.
"""

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

from harness.checks import verdicts
from harness.checks.devices import (
    copied_results,
    granted_access,
    granted_shares,
    reachable_devices,
    requested_results,
)
from harness.subject.allocation import allocated_states, allocators, inventories
from tests.histories import building, placements
from tests.histories.placements import claim, device, device_class, exactly, node, opaque, option

Object = dict[str, Any]
NODES = [node("n1", zone="a"), node("n2", zone="a"), node("n3", zone="b")]
CONDITIONS = {"bindingConditions": ["ready"], "bindingFailureConditions": ["broken"]}
CLASSES = ("local", "zone", "all", "shared")
"""Classes of devices on one node, in a zone, everywhere, and of those that can be shared."""


class Drawn:
    """A random world: slices, and claims for them."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.slices = [
            self._slice("local", nodeName="n1"),
            self._slice("zone", nodeSelector=placements.labelled("zone", "a")),
            self._slice("all", allNodes=True),
            self._slice("shared", nodeName="n1"),
        ]
        self.classes = [self._class(name) for name in CLASSES]
        self.claims = self._claims()
        self._random.shuffle(self.claims)

    def _slice(self, kind: str, **place: Any) -> placements.Event:
        devices = []
        for index in range(self._random.randint(14, 20)):
            made = device(f"{kind}-{index}", attributes={"kind": kind})
            if kind != "shared":
                made |= {key: [f"{value[0]}-{kind}"] for key, value in CONDITIONS.items()}
            else:
                made |= {"allowMultipleAllocations": True, "capacity": self._capacity()}
            devices.append(made)
        return placements.piece(*devices, pool=kind, name=kind, **place)

    def _capacity(self) -> Object:
        step = self._random.choice([2, 3, 5])
        valid = {"min": f"{step}Mi", "step": f"{step}Mi"}
        return {
            "memory": {"value": "30Gi", "requestPolicy": {"default": "30Mi", "validRange": valid}},
            "links": {"value": str(self._random.randint(50, 90))},
        }

    def _class(self, name: str) -> placements.Event:
        selector = f"device.attributes['{placements.DRIVER}'].kind == '{name}'"
        texts = [f"{name}-{self._random.randint(0, 9)}-{index}" for index in (0, 1)]
        return device_class(selector, name=name, config=[opaque(text) for text in texts])

    def _claims(self) -> list[placements.Event]:
        wanted = [*CLASSES, *(self._random.choice(CLASSES) for _ in range(3))]
        made = [self._requests(name) for name in wanted]
        made.append([self._exactly("r", "all", adminAccess=True)])
        alternatives = [
            {"name": name, **option(deviceClassName=kind, tolerations=self._tolerations())}
            for name, kind in (("x", "local"), ("y", "zone"))
        ]
        made.append([{"name": "r", "firstAvailable": alternatives}])
        return [
            claim(f"c{index}", requests=requests, config=self._config(requests))
            for index, requests in enumerate(made)
        ]

    def _requests(self, name: str) -> list[Object]:
        return [self._exactly("r", name), self._exactly("q", name)]

    def _exactly(self, name: str, kind: str, **fields: Any) -> Object:
        if kind == "shared" and self._random.random() < 0.7:
            memory = f"{self._random.randint(1, 40)}Mi"
            fields["capacity"] = {"requests": {"memory": memory, "links": "3"}}
        return exactly(name, deviceClassName=kind, tolerations=self._tolerations(), **fields)

    def _tolerations(self) -> list[Object]:
        keys = self._random.sample("abcdef", self._random.randint(1, 3))
        return [{"key": key, "operator": "Exists"} for key in keys]

    def _config(self, requests: Sequence[Object]) -> list[Object]:
        text = f"mine-{self._random.randint(0, 9)}"
        return [opaque(text, requests[0]["name"]), opaque(f"{text}-too")]


def perform(seed: int, allocator: type[allocators.Allocator]) -> list[placements.Event]:
    """The history in which an allocator fulfils the claims, one after the other."""
    drawn = Drawn(seed)
    classes = {event.obj["metadata"]["name"]: event.obj for event in drawn.classes}
    state = allocated_states.AllocatedState()
    made = []
    for number, event in enumerate(drawn.claims):
        version = {"resourceVersion": str(number)}
        obj = {**event.obj, "metadata": {**event.obj["metadata"], **version}}
        snapshot = inventories.snapshot_of([item.obj for item in drawn.slices])
        [allocation] = allocator(snapshot, state, classes, [obj]).allocate(NODES[0].obj) or [None]
        assert allocation is not None
        state.add(allocation)
        made.append(placements.Event({**obj, "status": {"allocation": allocation}}))
    return [*map(placements.listed, itertools.chain(NODES, drawn.classes, drawn.slices)), *made]


def judge(events: Sequence[placements.Event]) -> dict[str, verdicts.Verdict]:
    """The verdict of each check of fields that are copied or computed."""
    return {item.check: item.verdict for item in _answers(placements.fold(events))}


def _answers(seen: placements.Seen) -> Iterator[verdicts.CheckResult]:
    asked = seen.questions
    checks = (copied_results, granted_access, granted_shares, reachable_devices)
    yield from (_result(check.check(asked)) for check in checks)
    yield _result(requested_results.check(asked, seen.timelines, {}, building.plan()))


def _result(answer: verdicts.Answer) -> verdicts.CheckResult:
    assert isinstance(answer, verdicts.CheckResult), answer
    return answer
