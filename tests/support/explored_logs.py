"""Logs of our scheduler in small worlds, under chosen interleavings, with the truth."""

import collections
import dataclasses
from collections.abc import Sequence
from typing import Any

from harness import concurrency, seeds
from harness.apiserver.scheme import resources
from harness.explore.runtime import scheduler
from harness.explore.search import search_campaign
from harness.explore.worlds import world, world_catalogue
from harness.subject.telemetry import klog


@dataclasses.dataclass(frozen=True)
class ExploredLog:
    """A log, and the claims of each device that has several at the end."""

    text: str
    doubles: dict[str, set[str]]


def explore(
    world_name: str, *, number: int, defects: Sequence[str] = (), form: klog.Form = "text"
) -> ExploredLog:
    """Run a world to its end, whatever happens in it; `number` chooses the interleaving."""
    spec = dataclasses.replace(world_catalogue.sized(world_name, {}), oracles=())
    strategy = search_campaign.STRATEGIES["pct"](seeds.Seeds(7).stream("explore", number))
    lines: list[str] = []
    worlds: list[world.World] = []

    def objects() -> list[dict[str, Any]]:
        kinds = (resources.CLAIMS, resources.PODS)
        return [item for made in worlds for kind in kinds for item in made.documents(kind)]

    listener = klog.KlogLines(objects=objects)
    runtime = scheduler.ControlledRuntime(
        strategy,
        private_locks=spec.private_locks,
        record=lambda _, name, fields: listener(name, fields),
    )
    klog.use(klog.Logger(6, form, write=lines.append))
    try:
        with concurrency.install(runtime):
            made = spec.make(spec, runtime, defects=defects, remedies=())
            worlds.append(made)
            try:
                _run(made, runtime)
                doubles = _doubles(made)
            finally:
                runtime.kill_all()
    finally:
        klog.use(None)
    return ExploredLog("".join(lines), doubles)


def _run(made: world.World, runtime: scheduler.ControlledRuntime) -> None:
    made.start()
    made.begin()
    runtime.run(explore=True)
    while made.go_on():
        runtime.run(explore=True)


def _doubles(made: world.World) -> dict[str, set[str]]:
    holders = collections.defaultdict(set)
    for claim in made.documents(resources.CLAIMS):
        allocation = claim.get("status", {}).get("allocation") or {}
        for result in allocation.get("devices", {}).get("results", ()):
            device = "/".join(result[key] for key in ("driver", "pool", "device"))
            holders[device].add(f"{claim['metadata']['namespace']}/{claim['metadata']['name']}")
    return {device: claims for device, claims in holders.items() if len(claims) > 1}
