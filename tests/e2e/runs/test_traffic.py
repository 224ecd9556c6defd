"""Locust's workers against a slow API server."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Iterator

import msgspec
import pytest

from harness import clocks, processes
from harness.client import apis, transports
from harness.history import directories, journal_reader, plans, records
from harness.run import run_plan
from harness.scenario import loading, specs
from harness.traffic import launching
from tests.e2e import running
from tests.support import api_servers

pytestmark = pytest.mark.e2e
TIMEOUT_S = 60.0
SLOW = {
    "name": "slow",
    "point": "request",
    "match": {"verbs": ["create"], "path": "*/pods"},
    "action": {"type": "delay", "seconds": 3},
}
FAULTS = "/flake-hunt/v1/faults"


@pytest.fixture
def slow_server(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """The kubeconfig of a server that takes seconds to create a pod."""
    server = api_servers.start(tmp_path, "--set", "serves_faults=true")
    yield tmp_path / "plain"
    server.kill()


@dataclasses.dataclass(frozen=True)
class Planned:
    plan: plans.Plan
    directory: directories.RunDirectory


@pytest.fixture
def planned(tmp_path: pathlib.Path) -> Planned:
    loaded = loading.load(
        str(running.scenario(tmp_path)),
        overrides=["traffic.duration_s=30", "traffic.users=4", "traffic.processes=2"],
    )
    plan = run_plan.plan(loaded, seed=1)
    directory = directories.create(tmp_path / "run")
    plans.write(directory.plan, plan)
    return Planned(plan, directory)


def delayed(api: apis.Api) -> int:
    answer = api.transport.send(transports.Request(method="GET", path=f"{FAULTS}/slow"))
    count: int = msgspec.json.decode(answer.body)["appliedCount"]
    return count


def test_journals_are_closed_before_the_traffic_ends(
    slow_server: pathlib.Path, planned: Planned
) -> None:
    """Each worker is in a call of seconds when the traffic is told to end."""
    plan, directory = planned.plan, planned.directory
    with running.api(slow_server) as api, contextlib.ExitStack() as ending:
        api.create(apis.NAMESPACES, {"metadata": {"name": plan.namespace}})
        fault = transports.Request(method="POST", path=FAULTS, body=msgspec.json.encode(SLOW))
        assert api.transport.send(fault).status == 201
        traffic = processes.start(
            "traffic",
            launching.command(specs.Scenario.model_validate(plan.settings).traffic),
            log=directory.log("traffic"),
            env=launching.environment(directory, slow_server),
            folder=directory.logs,
        )
        ending.callback(traffic.kill)
        clocks.wait_until(lambda: delayed(api) >= 4, timeout_s=TIMEOUT_S, why="slow calls")
        assert traffic.stop(timeout_s=TIMEOUT_S) == 0, traffic.log_tail()
    for name in ("traffic-0", "traffic-1"):
        journal = journal_reader.read(directory.operations(name))
        assert journal.trailer is not None
        ops = [
            [item.op for item in journal.records if isinstance(item, kind)]
            for kind in (records.Invocation, records.Completion)
        ]
        assert sorted(ops[0]) == sorted(ops[1]) != []
