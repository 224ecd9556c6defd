"""Scenarios that search orders of a program's threads, and the script of one that was found."""

import dataclasses
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import tomli_w

from harness.history import records

SCHEDULER = "scheduler"
QUIET_S = 0.3
"""Time in which all that can happen while threads are held has happened, in a script."""
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


Form = Literal["free", "request", "answer"]
FORMS: tuple[Form, ...] = ("free", "request", "answer")
"""The request that waits until the threads are held: none; the write of the first claim's
allocation, while the other pods are created; its answer, before they are."""


def script(
    world: World, *, name: str, holds: Sequence[records.ThreadHold], form: Form, visit: int = 0
) -> str:
    """Return the script of an order: the holds of a try that has found something.

    `visit`: hold threads at this visit of their places instead (0: as in the try).
    """
    creations = [{"do": "create", "object": item["name"]} for item in world.objects]
    first, others = creations[: world.claims + 1], creations[world.claims + 1 :]
    held = [_held(number, hold, visit) for number, hold in enumerate(holds, 1)]
    steps = {
        "free": [*first, *others, *held],
        "request": [*first, _first_write("hold-request"), *others, *held, _ends("arrive")],
        "answer": [*first, _first_write("request", "held"), *held, _ends("answer"), *others],
    }[form]
    ends = [
        {"do": "await", "object": f"claim-{n}", "state": "allocated", "at_most_s": 2.0}
        for n in range(1, world.claims + 1)
    ]
    title = "an order of threads that a search has found"
    return _scenario(world, name, title, [*steps, *_released(holds), *ends])


def _first_write(do: str, answer: str = "") -> Table:
    step = {"do": do, "name": "write", "client": SCHEDULER, "of": "resourceclaims/claim-1/status"}
    return step | ({"answer": answer} if answer else {})


def _ends(do: str) -> Table:
    return {"do": do, "request": "write"}


def _held(number: int, hold: records.ThreadHold, visit: int) -> Table:
    step = {"do": "hold-thread", "name": f"held-{number}", "client": SCHEDULER, "at": hold.place}
    return {**step, "visit": visit or hold.visit}


def _released(holds: Sequence[records.ThreadHold]) -> Iterator[Table]:
    numbered = sorted(enumerate(holds, 1), key=lambda item: item[1].ended_ns)
    for number, _ in numbered:
        yield {"do": "wait", "seconds": QUIET_S}
        yield {"do": "release-thread", "hold": f"held-{number}"}


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
