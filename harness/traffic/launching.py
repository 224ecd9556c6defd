"""How to start the traffic of a run: its locustfile, command line, environment and journals.

This module imports neither locust nor gevent, so that other packages can import it.
"""

import importlib.util
import pathlib

from harness import errors, processes
from harness.extensions import discovery, isolation
from harness.history import directories, files, plans
from harness.scenario import script_specs, specs, traffic_specs

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
WORKER_LOST = 3
"""Exit code of Locust's master when a worker has died, or is missing."""
USER_FAILED = 4
"""Exit code of Locust's master when a user of a plug-in has failed."""
_PROCESS = "harness.traffic.plugged_users"
"""Module whose process tries the users of a locustfile."""
_LOCUSTFILE = pathlib.Path(__file__).with_name("locustfile.py")


def resolved(scenario: specs.Scenario) -> tuple[specs.Scenario, list[plans.UsedPlugin]]:
    """Return the scenario with the absolute path of its locustfile, and what its plan says of it.

    The file or plug-in is tried. The version of a file is its digest. Raises MissingExtraError
    without Locust, and PluginError if the file or plug-in is missing, or has no users.
    """
    traffic = scenario.traffic
    if isinstance(traffic, script_specs.ScriptTraffic):
        return scenario, []
    if importlib.util.find_spec("locust") is None:
        raise errors.MissingExtraError("Locust", "traffic")
    if not isinstance(traffic, traffic_specs.ChurnTraffic) or not traffic.locustfile:
        return scenario, []
    path = pathlib.Path(traffic.locustfile).resolve()
    if path.is_file():
        reference = str(path)
        package, version, name = reference, files.digest_or_reason(path), path.name
    elif plugin := discovery.named("traffic", traffic.locustfile):
        reference = traffic.locustfile
        package, version, name = plugin.package, plugin.version, plugin.name
    else:
        known = ", ".join(discovery.usable("traffic", shipped=())) or "none"
        raise errors.PluginError(
            f"expected a locustfile or the name of a traffic plug-in, got {traffic.locustfile!r}, "
            f"which is neither. Plug-ins: {known}"
        )
    isolation.ask(_PROCESS, [], reference.encode(), plugin=f"the locustfile {traffic.locustfile}")
    changed = traffic.model_copy(update={"locustfile": reference})
    used = plans.UsedPlugin(kind="traffic", name=name, package=package, version=version)
    return scenario.model_copy(update={"traffic": changed}), [used]


def command(traffic: traffic_specs.LoadTraffic) -> list[str]:
    """Return the command line of Locust's master, which forks its workers.

    The process chooses the port for them, see `locust_process`. It exits with 0 when all work was
    done and journaled, whatever the API server answered: that is judged from the journals.
    """
    options = {
        "locustfile": str(_LOCUSTFILE),
        "processes": traffic.processes,
        "master-bind-host": "127.0.0.1",
        "expect-workers-max-wait": WORKERS_WAIT_S,
        "users": traffic.users,
        "spawn-rate": traffic.users,
        "stop-timeout": STOP_TIMEOUT_S,
        "exit-code-on-error": 0,
        "loglevel": "INFO",
    }
    return [
        *processes.python("harness.traffic.locust_process"),
        *("--headless", "--only-summary"),
        *(part for name, value in options.items() for part in (f"--{name}", str(value))),
    ]


def enough_file(directory: directories.RunDirectory) -> pathlib.Path:
    """Return the path of the file that says that enough was done.

    When it exists, users begin nothing new after the scenario's minimum duration.
    """
    return directory.logs.resolve() / "traffic.enough"


def environment(directory: directories.RunDirectory, kubeconfig: pathlib.Path) -> dict[str, str]:
    return {
        "LOCUST_WAIT_FOR_WORKERS_REPORT_AFTER_RAMP_UP": str(WORKERS_WAIT_S),
        DIRECTORY_VARIABLE: str(directory.path.resolve()),
        KUBECONFIG_VARIABLE: str(kubeconfig.resolve()),
    }
