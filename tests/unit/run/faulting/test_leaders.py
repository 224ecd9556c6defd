"""The leader among the schedulers of a run, as their Lease names it."""

import pathlib
import sys
from collections.abc import Iterator

import pytest

from harness.client import apis
from harness.history import directories
from harness.run import supervising
from harness.run.faulting import process_faults
from tests.support import local_servers

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
