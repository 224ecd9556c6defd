"""A scheduler process with leader election: it stands by, leads, and ends when it loses its lease.

After Run in cmd/kube-scheduler/app/server.go.
"""

import os
import socket
import sys
from collections.abc import Callable

from harness import processes, seeds
from harness.client import apis
from harness.subject.leadership import leader_election
from harness.subject.scheduling import schedulers

LOST_LEASE = "leaderelection lost"
"""Last words of a scheduler that has lost its lease; kube-scheduler uses them, too."""
LOST_LEASE_CODE = 1
"""Its exit code then, as kube-scheduler's."""
DEFAULT_NAMESPACE = "kube-system"
_LOOK_S = 0.05
"""Seconds between two looks for SIGTERM while standing by."""


def elector(
    api: apis.Api,
    times: leader_election.LeaseTimes,
    *,
    namespace: str | None,
    scheduler_name: str,
    seed: int,
) -> leader_election.LeaderElector:
    """Return the elector on the Lease that is named after the scheduler.

    `namespace` None: that of kube-scheduler. The process ends when the lease is lost.
    """
    return leader_election.LeaderElector(
        api,
        times,
        namespace=namespace or DEFAULT_NAMESPACE,
        name=scheduler_name,
        identity=f"{socket.gethostname()}_{os.getpid()}",
        jitter=seeds.Seeds(seed).stream("leader-election", str(os.getpid())),
        on_lost=_end_at_once,
    )


def run(
    scheduler: schedulers.Scheduler,
    elector: leader_election.LeaderElector,
    on_ready: Callable[[], None],
) -> None:
    """Stand by until the lease is held, schedule, and release the lease when all has ended."""
    stopped = processes.StopEvent()
    scheduler.stand_by()
    on_ready()
    elector.start()
    while not (stopped.is_set() or elector.wait_leading(_LOOK_S)):
        pass
    if not stopped.is_set():
        scheduler.lead(elector.still_leads)
        stopped.wait()
    scheduler.stop()
    elector.stop()


def _end_at_once() -> None:
    """End the process as kube-scheduler does; what it has sent to the API server stays under way.

    Its steps get no trailer: other threads may still take steps.
    """
    sys.stderr.write(f"flake-hunt scheduler: {LOST_LEASE}\n")
    sys.stderr.flush()
    os._exit(LOST_LEASE_CODE)
