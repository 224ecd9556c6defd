"""Random histories of one part of the subject, as a recorder writes them down.

Each has every field that can be spoiled: in claims that an allocator fulfils, tolerations, binding
conditions, configuration, shares with request policies, admin access, alternatives, and devices of
one node and of several; in claims that a controller makes, all that a template can say; in pods,
several claims, and several containers with extended resources.
"""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from harness.apiserver.storage import watch_cache
from harness.checks import protocol, verdicts
from harness.checks.devices import granted_devices, reachable_devices, requested_devices
from harness.checks.nodes import extended_claims
from harness.client import apis
from harness.subject import assembling
from harness.subject.allocation import allocated_states, inventories
from tests.histories import building, claim_judging, placements
from tests.histories.placements import claim, device, device_class, exactly, node, opaque, option
from tests.support import (
    api_objects,
    commit_recording,
    controller_worlds,
    local_servers,
    plugin_world,
)

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


# ------------------------------------------------------------------------- allocations

Found = dict[str, verdicts.Verdict]
"""The verdict of each check that had something to examine."""


def allocate(seed: int, defects: Sequence[str]) -> Found:
    """An allocator fulfils the claims, one after the other."""
    drawn = Drawn(seed)
    classes = {event.obj["metadata"]["name"]: event.obj for event in drawn.classes}
    allocator, state = assembling.parts(defects).new_allocator, allocated_states.AllocatedState()
    made = []
    for number, event in enumerate(drawn.claims):
        version = {"resourceVersion": str(number)}
        obj = {**event.obj, "metadata": {**event.obj["metadata"], **version}}
        snapshot = inventories.snapshot_of([item.obj for item in drawn.slices])
        [allocation] = allocator(snapshot, state, classes, [obj]).allocate(NODES[0].obj) or [None]
        assert allocation is not None
        state.add(allocation)
        made.append(placements.Event({**obj, "status": {"allocation": allocation}}))
    world = map(placements.listed, itertools.chain(NODES, drawn.classes, drawn.slices))
    return _verdicts(_of_allocations(placements.evidence([*world, *made])))


def _of_allocations(evidence: protocol.Evidence) -> Iterator[verdicts.Answer]:
    for check in (
        granted_devices.COPIED_RESULTS,
        granted_devices.GRANTED_ACCESS,
        granted_devices.GRANTED_SHARES,
        reachable_devices.REACHABLE_DEVICES,
        requested_devices.REQUESTED_RESULTS,
    ):
        yield check.judge(evidence)


def _verdicts(answers: Iterator[verdicts.Answer]) -> Found:
    return {item.check: item.verdict for item in answers if isinstance(item, verdicts.CheckResult)}


# ------------------------------------------------------------------------- claims and pods


def generate(seed: int, defects: Sequence[str]) -> Found:
    """A controller makes the claims of two pods with two templates, and names them there."""
    stream = random.Random(seed)
    server = local_servers.LocalServer()
    recorder = commit_recording.Recorder(server)
    world = controller_worlds.World(server, chosen=defects)
    names = ["x", "y"]
    for name in names:
        world.put(apis.CLAIM_TEMPLATES, _template(stream, name))
    for pod in "pq":
        world.put(apis.PODS, api_objects.pod(pod, templates=names))
    world.start()
    try:
        for pod in "pq":
            world.wait(
                lambda pod=pod: len(world.pod(pod)["status"].get("resourceClaimStatuses", ())) == 2,
                "the status to name both claims",
            )
    finally:
        world.stop()
    world.put(apis.CLAIMS, api_objects.claim("later"))
    server.close()
    return _verdicts(iter(claim_judging.answers(recorder.body).values()))


def _template(stream: random.Random, name: str) -> Object:
    requests = [
        {"name": f"r{index}", "exactly": {**api_objects.exactly()["exactly"], "count": count}}
        for index, count in enumerate(stream.sample([1, 2, 3], stream.randint(1, 2)))
    ]
    config = [opaque(f"{name}-{stream.randint(0, 9)}")]
    labels = {f"label-{index}": name for index in range(stream.randint(1, 3))}
    annotations = {f"note-{index}": name for index in range(stream.randint(1, 3))}
    spec = {"devices": {"requests": requests, "config": config}}
    metadata = {"labels": labels, "annotations": annotations}
    return api_objects.template(name, spec=spec, metadata=metadata)


def bind(seed: int, defects: Sequence[str]) -> Found:
    stream = random.Random(seed)
    server = local_servers.LocalServer()
    recorder = commit_recording.Recorder(server)
    world = plugin_world.World(server, assembling.parts(defects))
    names = [f"c{index}" for index in range(stream.randint(1, 2))]
    for name in names:
        world.claim(name)
    attempt = world.reserved(world.pod(f"p{seed}", *names))
    world.plugin.pre_bind(attempt)
    world.api.bind(attempt.pod, attempt.node_name)
    server.close()
    return _verdicts(iter(claim_judging.answers(recorder.body).values()))


def extend(seed: int, defects: Sequence[str]) -> Found:
    """A scheduler makes the claim for a pod whose containers ask for an extended resource."""
    stream = random.Random(seed)
    server = local_servers.LocalServer()
    recorder = commit_recording.Recorder(server)
    world = plugin_world.World(server, assembling.parts(defects), [f"d{n}" for n in range(9)])
    world.extended.resolver.on_add(_BACKING, initial=True)
    server.store.listen(lambda commit: _deliver(world, commit))
    made = api_objects.pod("p")
    [plain] = made["spec"]["containers"]
    made["spec"]["containers"] = [
        {**plain, "name": name, "resources": {"limits": {plugin_world.GPU: str(amount)}}}
        for name, amount in zip("ab", stream.sample([1, 2, 3], 2), strict=True)
    ]
    attempt = world.reserved(world.api.create(apis.PODS, made, namespace="default"))
    world.plugin.pre_bind(attempt)
    world.api.bind(attempt.pod, attempt.node_name)
    stored = world.api.get(apis.PODS, "p", namespace="default")
    status = {**stored["status"], "phase": "Running"}
    world.api.update_status(apis.PODS, {**stored, "status": status})
    server.close()
    check, plan = extended_claims.CHECK, building.plan(settings=_EXTENDED)
    seen = claim_judging.evidence(recorder.body, [check], of=plan)
    return _verdicts(iter([check.judge(seen)]))


_EXTENDED = {
    "pools": {
        "device_class": {"name": api_objects.CLASS, "extended_resource": plugin_world.GPU},
    },
}
_BACKING = api_objects.device_class()
_BACKING["spec"]["extendedResourceName"] = plugin_world.GPU


def _deliver(world: plugin_world.World, commit: watch_cache.Commit) -> None:
    """The informer delivers a new claim at once."""
    if commit.resource.plural == "resourceclaims" and commit.type == "ADDED":
        world.cache.on_add(msgspec.json.decode(commit.object.data), initial=False)


Play = Callable[[int, Sequence[str]], Found]
