"""How others start the traffic of a run: the command line, its environment, and which journals it will leave.

Imports neither locust nor gevent.
"""

import pathlib
import socket
import sys

from harness.history import directories
from harness.scenario import specs

STOP_TIMEOUT_S = 10
"""For users to end what they have begun; longer than any call of theirs should take."""
WORKERS_WAIT_S = 30
"""For every worker to connect, and then for its users to be there; with Locust's own one second, a busy machine begins without some."""
DIRECTORY_VARIABLE = "FLAKE_HUNT_RUN_DIRECTORY"
KUBECONFIG_VARIABLE = "FLAKE_HUNT_KUBECONFIG"
_LOCUSTFILE = pathlib.Path(__file__).with_name("locustfile.py")


def process_names(traffic: specs.TrafficSpec) -> list[str]:
    """The worker processes, as their journals are named."""
    return [process_name(index) for index in range(traffic.processes)]


def process_name(index: int) -> str:
    """`traffic-0`, …"""
    return f"traffic-{index}"


def command(traffic: specs.TrafficSpec) -> list[str]:
    """The command line: Locust's master, which forks its workers. Exit code 0 when all work was done and journaled."""
    options = {
        "locustfile": str(_LOCUSTFILE),
        "processes": traffic.processes,
        "users": traffic.users,
        "spawn-rate": traffic.users,
        "stop-timeout": STOP_TIMEOUT_S,
        "master-bind-host": "127.0.0.1",
        "master-bind-port": (port := _free_port()),
        "master-port": port,
        "expect-workers-max-wait": WORKERS_WAIT_S,
        "loglevel": "INFO",
    }
    flags = ["--headless", "--only-summary"]
    return [
        sys.executable,
        "-m",
        "locust",
        *flags,
        *(part for name, value in options.items() for part in (f"--{name}", str(value))),
    ]


def enough_file(directory: directories.RunDirectory) -> pathlib.Path:
    """There once enough was done: users then begin nothing new after the scenario's duration."""
    return directory.logs.resolve() / "traffic.enough"


def environment(directory: directories.RunDirectory, kubeconfig: pathlib.Path) -> dict[str, str]:
    """What the locustfile and Locust need to know."""
    return {
        "LOCUST_WAIT_FOR_WORKERS_REPORT_AFTER_RAMP_UP": str(WORKERS_WAIT_S),
        DIRECTORY_VARIABLE: str(directory.path.resolve()),
        KUBECONFIG_VARIABLE: str(kubeconfig.resolve()),
    }


def _free_port() -> int:
    """For Locust's own messages; taken by somebody else in between, the workers do not connect and the run ends in an error."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
