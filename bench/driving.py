"""The load: users driven by 1, 2 and 4 worker processes, and what they cost Locust's master.

Each worker has as many users, which create and delete a pod each in a second. CPU times are those
of the master's process and of all workers, between two moments under full load.
"""

import contextlib
import dataclasses
import json
import pathlib
import tempfile
from collections.abc import Iterator

import psutil

from bench import apiserver
from harness import clocks, processes
from harness.history import directories, journal_reader, plans, records
from harness.model import naming
from harness.run import run_plan
from harness.scenario import loading, script_specs, specs
from harness.traffic import launching

WORKERS = (1, 2, 4)
USERS = 50
"""Users of each worker."""
SECONDS = 8.0
TIMEOUT_S = 120.0
_SCENARIO = """
schema_version = 1
name = "driving"
title = "users without a scheduler"
description = "of the benchmark"
[traffic]
profile = "churn"
duration_s = 600.0
duration_max_s = 600.0
[load]
allocations_min = 1
pods_running_min = 1
"""
_LOCUSTFILE = """
from locust import constant_pacing, task
from harness.client import apis
from harness.traffic import users

class Paced(users.ClaimUser):
    wait_time = constant_pacing(1)

    @task
    def once(self):
        pod = self.new_pod_name()
        self.create_pod(pod)
        self.delete(apis.PODS, pod, grace_period_s=0)
"""


@dataclasses.dataclass(frozen=True, slots=True)
class _Load:
    """The processes of a load under way."""

    directory: directories.RunDirectory
    master: psutil.Process
    workers: list[psutil.Process]


def measure() -> Iterator[tuple[str, float, str]]:
    """Yield the figures of each number of workers."""
    for count in WORKERS:
        yield from _figures(count)


def _figures(count: int) -> Iterator[tuple[str, float, str]]:
    with _load(count) as load:
        begun_ns, master_s = clocks.monotonic_ns(), _cpu_s(load.master)
        workers_s = sum(map(_cpu_s, load.workers))
        clocks.sleep(SECONDS)
        master_s = _cpu_s(load.master) - master_s
        workers_s = sum(map(_cpu_s, load.workers)) - workers_s
        ended_ns = clocks.monotonic_ns()
        calls = _calls(load.directory, begun_ns, ended_ns)
    span_s = (ended_ns - begun_ns) / 1e9
    yield f"{count} workers: users", count * USERS, "users"
    yield "  calls in a second", calls / span_s, "calls/s"
    yield "  CPU time of the master in a second", master_s / span_s * 1000, "ms CPU"
    yield "  CPU time of each worker in a second", workers_s / span_s / count * 1000, "ms of worker"


def _calls(directory: directories.RunDirectory, begun_ns: int, ended_ns: int) -> int:
    return sum(
        begun_ns <= record.ts_ns < ended_ns
        for path in directory.all_operations()
        for record in journal_reader.read(path).records
        if isinstance(record, records.Completion)
    )


@contextlib.contextmanager
def _load(count: int) -> Iterator[_Load]:
    """A load in which all users are at work."""
    with tempfile.TemporaryDirectory() as name, apiserver.served() as server:
        folder, kubeconfig = pathlib.Path(name), server.kubeconfig.with_name("plain")
        directory, plan = _planned(folder, count)
        namespace = {"name": plan.namespace, "labels": {naming.RUN_LABEL: plan.run_id}}
        body = json.dumps({"metadata": namespace}).encode()
        server.client.send_all([server.client.request("POST", "/api/v1/namespaces", body)])
        traffic = specs.Scenario.model_validate(plan.settings).traffic
        assert not isinstance(traffic, script_specs.ScriptTraffic)
        with contextlib.ExitStack() as ending:
            master = processes.start(
                "traffic",
                launching.command(traffic),
                log=directory.log("traffic"),
                env=launching.environment(directory, kubeconfig),
                folder=directory.logs,
            )
            ending.callback(master.kill)
            clocks.wait_until(
                lambda: "All users spawned" in master.log.read_text(),
                timeout_s=TIMEOUT_S,
                why="all users",
            )
            known = psutil.Process(master.pid)
            yield _Load(directory, known, known.children())
            if code := master.stop(timeout_s=TIMEOUT_S):
                raise RuntimeError(f"expected the traffic to end in order, got {code}")


def _planned(folder: pathlib.Path, count: int) -> tuple[directories.RunDirectory, plans.Plan]:
    scenario, locustfile = folder / "driving.toml", folder / "paced.py"
    scenario.write_text(_SCENARIO)
    locustfile.write_text(_LOCUSTFILE)
    changes = {"processes": count, "users": count * USERS, "locustfile": str(locustfile)}
    overrides = [f"traffic.{key}={json.dumps(value)}" for key, value in changes.items()]
    plan = run_plan.plan(loading.load(str(scenario), overrides=overrides), seed=1)
    directory = directories.create(folder / "run")
    plans.write(directory.plan, plan)
    return directory, plan


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
