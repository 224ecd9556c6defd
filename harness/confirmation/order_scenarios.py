"""Scenarios that search orders of a program's threads, and the script of one that was found."""

import dataclasses
import random
from collections.abc import Mapping, Sequence
from typing import Any

import tomli_w

SCHEDULER = "scheduler"
Table = dict[str, Any]
Order = tuple[tuple[str, int], ...]
"""Places, and the visits of them in a try, at which threads are held."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The objects of each try: as many claims, pods and devices."""

    claims: int
    depth: int = 3
    """Most threads that are held in a try; 0: none, and none stops."""
    functions: Sequence[str] = ()
    """Patterns of the functions that are places; none: those of interest."""

    @property
    def objects(self) -> list[Table]:
        numbers = range(1, self.claims + 1)
        return [
            *({"kind": "ResourceClaim", "name": f"claim-{n}"} for n in numbers),
            *({"kind": "Pod", "name": f"pod-{n}", "claims": [f"claim-{n}"]} for n in numbers),
        ]


def search(world: World, *, name: str, seconds: float) -> str:
    """Return the scenario of a search, as TOML."""
    step = {"seconds": seconds, "functions": list(world.functions), "tries": 100_000}
    step |= {"depth": world.depth}
    return _scenario(world, name, "orders of a program's threads", [_tries(step)])


def repeated(
    world: World,
    *,
    name: str,
    orders: Sequence[Order],
    waits: str,
    times: int,
    stops: bool = False,
) -> str:
    """Return the scenario that tries some orders, each as often as asked.

    `stops`: it ends at the first one that fails, and again in half of its repetitions.
    """
    step = {
        "functions": list(world.functions),
        "chosen": [[list(visit) for visit in order] for order in orders],
        "waits": waits,
        "tries": times * len(orders),
        "seconds": 60.0 + 10.0 * times * len(orders),
        "stops": stops,
    }
    return _scenario(world, name, "some orders of a program's threads", [_tries(step)])


def _tries(settings: Mapping[str, Any]) -> Table:
    return {"do": "try-orders", "client": SCHEDULER, **settings}


def _scenario(world: World, name: str, title: str, steps: Sequence[Table]) -> str:
    text: str = tomli_w.dumps(
        {
            "schema_version": 1,
            "name": name,
            "title": title,
            "pools": {"nodes": 1, "devices_per_node": world.claims},
            "traffic": {
                "profile": "script",
                "expects": ["device_exclusivity"],
                "objects": world.objects,
                "steps": list(steps),
            },
        }
    )
    return text


def fresh_name(seed: int) -> str:
    """Return the name of a search and of its script."""
    return f"order-{random.Random(seed).randrange(16**6):06x}"
