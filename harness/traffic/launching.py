"""How to start the traffic of a run: its command line, its environment and its journals.

This module imports neither locust nor gevent, so that other packages can import it.
"""

import pathlib
import socket
import sys

from harness.history import directories
from harness.scenario import traffic_specs

STOP_TIMEOUT_S = 10
"""Seconds for users to finish what they have begun; longer than any of their calls should take."""
WORKERS_WAIT_S = 30
"""Seconds to wait for all workers to connect, and then for all their users to start.

Locust's own second wait is one second; on a busy machine the load would begin without some users.
"""
DIRECTORY_VARIABLE = "FLAKE_HUNT_RUN_DIRECTORY"
"""Environment variable with the path of the run directory."""
KUBECONFIG_VARIABLE = "FLAKE_HUNT_KUBECONFIG"
"""Environment variable with the path of the kubeconfig."""
_LOCUSTFILE = pathlib.Path(__file__).with_name("locustfile.py")


def process_names(traffic: traffic_specs.TrafficSpec) -> list[str]:
    """Return the names of the worker processes, which are also the names of their journals."""
    return [process_name(index) for index in range(traffic.processes)]


def process_name(index: int) -> str:
    """Return the name of a worker process, such as `traffic-0`."""
    return f"traffic-{index}"


def command(traffic: traffic_specs.TrafficSpec) -> list[str]:
    """Return the command line of Locust's master, which forks its workers.

    It exits with 0 when all work was done and journaled, whatever the API server answered: that is
    judged from the journals.
    """
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
        "exit-code-on-error": 0,
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
    """Return the path of the file that says that enough was done.

    When it exists, users begin nothing new after the scenario's minimum duration.
    """
    return directory.logs.resolve() / "traffic.enough"


def environment(directory: directories.RunDirectory, kubeconfig: pathlib.Path) -> dict[str, str]:
    """Return the environment variables for the locustfile and for Locust."""
    return {
        "LOCUST_WAIT_FOR_WORKERS_REPORT_AFTER_RAMP_UP": str(WORKERS_WAIT_S),
        DIRECTORY_VARIABLE: str(directory.path.resolve()),
        KUBECONFIG_VARIABLE: str(kubeconfig.resolve()),
    }


def _free_port() -> int:
    """Return a free port for the messages between Locust's master and workers.

    If another program takes it meanwhile, the workers cannot connect and the run ends with an
    error.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
