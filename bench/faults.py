"""Faults in the embedded API server: their cost for creates and events that they do not hit, and
the cost of a lag.

CPU times are those of the server's process. Each is the median of ROUNDS rounds, in which the
variants are measured one after the other, so that the load of the machine is the same for all.
"""

import contextlib
import statistics
from collections.abc import Iterator
from typing import Any

from bench import apiserver
from harness.apiserver import json_codec

ROUNDS = 5
WATCHES = 50
LAG_S = 0.1
FAULTS = "/flake-hunt/v1/faults"
CLIENT: dict[str, Any] = {"match": {"clients": ["someone-else"]}}
OBJECT: dict[str, Any] = {"match": {"name": "something-else"}}


def passed_over(match: dict[str, Any], *points: str) -> list[dict[str, Any]]:
    """Return faults that hit nothing in these benchmarks."""
    return [{"point": point, "action": {"type": "block"}, **match} for point in points]


LAGGING: list[dict[str, Any]] = [
    {"point": "event", "action": {"type": "delay", "seconds": LAG_S}, "match": {"resource": "pods"}}
]


def measure() -> apiserver.Figures:
    """Yield all figures."""
    yield from measure_creates()
    yield from measure_events()


def measure_creates() -> apiserver.Figures:
    """Measure creates without watches: no fault API, none set, and some for another client."""
    with apiserver.served() as plain, apiserver.served("--set", "serves_faults=true") as armed:
        variants: list[Variant] = [
            ("without the fault API", plain, []),
            ("with it, no fault set", armed, []),
            ("with faults of another client", armed, passed_over(CLIENT, "request", "response")),
            ("with faults of another object", armed, passed_over(OBJECT, "request", "response")),
        ]
        for what, cpu_us in _medians(variants, watches=0):
            yield f"CPU time of the server for each create {what}", cpu_us, "µs"


def measure_events() -> apiserver.Figures:
    """Measure creates that many clients watch: the same, and with a lag."""
    with apiserver.served() as plain, apiserver.served("--set", "serves_faults=true") as armed:
        variants: list[Variant] = [
            ("without the fault API", plain, []),
            ("with it, no fault set", armed, []),
            ("with a fault of another client", armed, passed_over(CLIENT, "event")),
            ("with a fault of another object", armed, passed_over(OBJECT, "event")),
            (f"with a lag of {LAG_S:g} s", armed, LAGGING),
        ]
        for what, cpu_us in _medians(variants, watches=WATCHES):
            yield f"CPU time for each event of a create, {what}", cpu_us / WATCHES, "µs/event"


Variant = tuple[str, apiserver.Server, list[dict[str, Any]]]


def _medians(variants: list[Variant], *, watches: int) -> Iterator[tuple[str, float]]:
    """Yield the name of each variant and the CPU time of a create in µs."""
    measured: dict[str, list[float]] = {what: [] for what, _, _ in variants}
    for _, server, _ in variants:
        server.creates(watches=watches)  # warm
    for _ in range(ROUNDS):
        for what, server, specs in variants:
            with _set(server, specs):
                measured[what].append(server.creates(watches=watches)[1])
    for what, values in measured.items():
        yield what, statistics.median(values)


@contextlib.contextmanager
def _set(server: apiserver.Server, specs: list[dict[str, Any]]) -> Iterator[None]:
    """Set faults for the `with` block."""
    client = server.client
    client.send_all(client.request("POST", FAULTS, json_codec.encode(spec)) for spec in specs)
    try:
        yield
    finally:
        if specs:
            client.send_all([client.request("DELETE", FAULTS)])
