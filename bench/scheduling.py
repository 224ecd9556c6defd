"""Scheduling: the scheduler alone, with the embedded API server, the claim controller, whole runs.

The whole runs are of `uses-all-resources`: pods scheduled per second, the CPU time of each process,
and the duration. `run` is the process that plans, watches and judges.
"""

import pathlib
import tempfile
import time
from collections.abc import Iterator

from bench import attempts, bindings, cpu_time, generating
from harness.run import run_plan, runs
from harness.scenario import loading

SCENARIO = "uses-all-resources"
_WITHOUT_PAUSES = ("subject.pauses.probability=0.0",)
_100_NODES = (*_WITHOUT_PAUSES, "pools.nodes=100", "pools.devices_per_node=8")
_USUAL = "subject.switch_interval_s=0.005"
"""CPython's own interval: a run has a shorter one, so that races show."""
VARIANTS = {
    "as shipped, with pauses": (),
    "without pauses": _WITHOUT_PAUSES,
    "without pauses, CPython's own switch interval": (*_WITHOUT_PAUSES, _USUAL),
    "without pauses, 100 nodes": _100_NODES,
    "without pauses, 100 nodes, CPython's own switch interval": (*_100_NODES, _USUAL),
}


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure the parts, then one run of each variant, with all components on this machine."""
    yield from attempts.measure()
    yield from bindings.measure()
    yield from generating.measure()
    seconds: dict[str, float] = {}
    for name, overrides in VARIANTS.items():
        with tempfile.TemporaryDirectory() as folder:
            loaded = loading.load(SCENARIO, overrides=overrides)
            plan = run_plan.plan(loaded, seed=1)
            directory = runs.new_directory(plan, pathlib.Path(folder))
            started = time.perf_counter()
            with cpu_time.of_parts() as spent:
                judgement = runs.run(loaded, plan, directory)
            seconds[name] = time.perf_counter() - started
        yield f"{name} ({judgement.verdict})", judgement.figures.allocations_per_s or 0.0, "pods/s"
        for part, used in spent.items():
            yield f"{name}: {part}", used, "CPU s"
    for name, value in seconds.items():
        yield f"{name}: from start to verdict", value, "s"
