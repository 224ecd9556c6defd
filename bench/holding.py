"""Threads of a program, stopped and held: what a stop costs, and what is left of a load."""

import pathlib
import tempfile
import time
from collections.abc import Iterator

from harness.cluster.local import binaries
from harness.run import run_plan, runs
from harness.scenario import loading
from harness.threads import messages
from tests.unit.threads import programs

TURNS = 1000
"""Turns of each thread of a small program, in which it calls each function once."""
SCENARIO, SUBJECT = "uses-all-resources", "kube-scheduler"
VARIANTS = {
    "its threads are left alone": 0.0,
    "they stop at some 250 functions, 5 times a second at each": 1e-9,
    "and 5 % of these visits are held": 0.05,
}


def measure() -> Iterator[tuple[str, float, str]]:
    """Measure one stop of a program in C, and the load of a kube-scheduler, where they are."""
    if not programs.without_c():
        yield from _stops()
    if not binaries.is_there(SUBJECT):
        return
    for name, share in VARIANTS.items():
        with tempfile.TemporaryDirectory() as folder:
            loaded = loading.load(SCENARIO, overrides=[f"subject.hold_threads={share}"])
            plan = run_plan.plan(loaded, seed=1, chosen_subjects=[SUBJECT])
            judgement = runs.run(loaded, plan, runs.new_directory(plan, pathlib.Path(folder)))
        allocated = judgement.figures.allocations_per_s or 0.0
        yield f"{SUBJECT}: {name} ({judgement.verdict})", allocated, "pods/s"


def _stops() -> Iterator[tuple[str, float, str]]:
    with tempfile.TemporaryDirectory() as folder, programs.starting(pathlib.Path(folder)) as start:
        program = programs.build_loops(pathlib.Path(folder))
        traced = start(program, TURNS, "exit", 0)
        tried = messages.Try(name="stops", functions=programs.FUNCTIONS, busy_visits=10**9)
        traced.session.tell(tried)
        traced.told(tried.name, "begun")
        begun = time.perf_counter()
        traced.type()
        traced.line()
        seconds = time.perf_counter() - begun
        stops = sum(traced.counted(tried).values())
        yield f"one of {stops:,} stops of a program with 8 threads", seconds / stops * 1e6, "µs"
