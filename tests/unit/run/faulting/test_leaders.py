"""The leader among the schedulers of a run, as their Lease names it."""

import pathlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.client import apis
from harness.cluster import interfaces
from harness.history import directories
from harness.run import supervising
from harness.run.faulting import injecting, process_faults
from tests.support import local_servers
from tests.unit.run.faulting import fake_parts

SPACE, NAME = "default", "flake-hunt"
OBEDIENT = [sys.executable, "-c", "import signal; signal.pause()"]


def _leader(server: local_servers.LocalServer) -> int | None:
    return process_faults.leader_pid(apis.Api(server), namespace=SPACE, name=NAME)


def _hold(server: local_servers.LocalServer, identity: str) -> None:
    """Let a candidate hold the lease; an empty name: it was released."""
    spec = {"leaseDurationSeconds": 15}
    apis.Api(server).create(
        apis.LEASES,
        {
            "metadata": {"name": NAME},
            "spec": spec | ({"holderIdentity": identity} if identity else {}),
        },
        namespace=SPACE,
    )


@pytest.mark.parametrize(
    ("identity", "pid"),
    [("a-host_4711", 4711), ("under_score_12", 12), ("host_1b9d6bcd-bbfd", None), ("", None)],
)
def test_the_holder_s_name_ends_with_its_process_id(identity: str, pid: int | None) -> None:
    server = local_servers.LocalServer()
    _hold(server, identity)
    assert _leader(server) == pid


def test_without_an_election_or_an_answer_no_leader_is_known() -> None:
    server = local_servers.LocalServer()
    assert _leader(server) is None
    _hold(server, "a-host_4711")
    server.refuse("GET", "leases", status=503)
    assert _leader(server) is None


@pytest.fixture
def supervisor(tmp_path: pathlib.Path) -> Iterator[supervising.Supervisor]:
    directory = directories.create(tmp_path / "run")
    found = supervising.Supervisor(directory, run_id="r", cluster=lambda: None)
    yield found
    found.kill_all()


def test_a_fault_of_elected_schedulers_hits_the_leader(supervisor: supervising.Supervisor) -> None:
    pids: dict[str, int | None] = {"none": None}
    for name in ("scheduler", "scheduler-2", "kubelet"):
        pids[name] = supervisor.start(name, OBEDIENT).pid
    for leading, process in (("none", "scheduler"), ("scheduler-2", "scheduler-2")):
        assert process_faults.living(supervisor, "scheduler", pids[leading]) == process
    assert process_faults.living(supervisor, "kubelet", pids["scheduler-2"]) == "kubelet"
    supervisor.kill("scheduler-2", fault="crash")
    assert process_faults.living(supervisor, "scheduler", pids["scheduler-2"]) == "scheduler"


class Controlled:
    """A process of the cluster, of which every call is noted."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda **how: self.calls.append(" ".join([name, *map(str, how.values())]))


@pytest.mark.parametrize(
    ("kind", "keys", "is_abandoned", "calls"),
    [
        ("kill-process", {"down_s": 0.0}, False, ["end True", "start_again"]),
        ("restart-process", {"down_s": 0.0}, False, ["end False", "start_again"]),
        ("restart-process", {"down_s": 0.0}, True, ["end False"]),
        ("pause-process", {"seconds": 0.01}, True, ["pause", "resume"]),
    ],
)
def test_a_process_of_the_cluster_is_hit_by_the_cluster(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    keys: dict[str, Any],
    is_abandoned: bool,
    calls: list[str],
) -> None:
    theirs, processes, ending = Controlled(), fake_parts.FakeProcesses(), injecting.Ending()
    on = interfaces.Capabilities(claim_controller_process="scheduler")
    provider = types.SimpleNamespace(capabilities=on)
    monkeypatch.setattr("harness.cluster.providers.of", lambda _: provider)
    ending.is_abandoned, processes.is_dead = is_abandoned, True
    cluster = types.SimpleNamespace(controlled={"scheduler": theirs}.__getitem__)
    stage = fake_parts.stage(tmp_path, processes, cluster=cluster)
    stage.plan.settings["subject"]["leader_election"] = True  # it is no scheduler of the run
    (applied,), window = fake_parts.injected(stage, fake_parts.fault("f", kind, **keys), ending)
    assert (theirs.calls, processes.calls, window.error) == (calls, [], "")
    assert applied.process == "scheduler"


def test_an_elected_scheduler_is_found_by_its_lease(tmp_path: pathlib.Path) -> None:
    server, processes = local_servers.LocalServer(), fake_parts.FakeProcesses()
    _hold(server, "a-host_4711")
    processes.with_pid = {4711: "scheduler-2.3"}.get  # type: ignore[attr-defined]
    stage = fake_parts.stage(tmp_path, processes, api=apis.Api(server))
    stage.plan.namespace = SPACE
    elected = {"leader_election": True, "schedulers": [{"scheduler_name": NAME}]}
    stage.plan.settings["subject"] = elected
    (applied,), _ = fake_parts.injected(stage, fake_parts.fault("f", "kill-process", down_s=0.0))
    assert applied.process == "scheduler-2.3"
    assert processes.calls == ["kill scheduler-2.3 for f", "start scheduler-2"]
