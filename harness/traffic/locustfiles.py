"""Which locustfile or traffic plug-in a scenario names; found and tried when a run is planned.

Imports neither locust nor gevent: the users are imported by a process of their own.
"""

import json
import pathlib

from harness import errors
from harness.extensions import discovery, entry_points, isolation
from harness.history import files, plans
from harness.scenario import specs, traffic_specs

_PROCESS = "harness.traffic.plugged_users"


def resolved(scenario: specs.Scenario) -> specs.Scenario:
    """Return the scenario with the absolute path of its locustfile, which is tried.

    Raises PluginError if the file or plug-in is missing, or has no users.
    """
    traffic = scenario.traffic
    if not isinstance(traffic, traffic_specs.ChurnTraffic) or not traffic.locustfile:
        return scenario
    reference = _absolute(traffic.locustfile)
    isolation.ask(_PROCESS, [], reference.encode(), plugin=f"the locustfile {traffic.locustfile}")
    return scenario.model_copy(
        update={"traffic": traffic.model_copy(update={"locustfile": reference})}
    )


def override(reference: str) -> list[str]:
    """Return the change of a scenario that gives it a locustfile; none for an empty reference.

    The path of a file becomes absolute: workers read it, too.
    """
    if not reference:
        return []
    path = pathlib.Path(reference)
    chosen = str(path.resolve()) if path.is_file() else reference
    return [f"traffic.locustfile={json.dumps(chosen)}"]


def used(scenario: specs.Scenario) -> list[plans.UsedPlugin]:
    """Return the locustfile or plug-in of a resolved scenario, for its plan; empty: it has none.

    The version of a file is its digest.
    """
    reference = getattr(scenario.traffic, "locustfile", "")
    if not reference:
        return []
    if plugin := _plugin(reference):
        package, version, name = plugin.package, plugin.version, plugin.name
    else:
        path = pathlib.Path(reference)
        package, version, name = str(path), files.digest_or_reason(path), path.name
    return [plans.UsedPlugin(kind="traffic", name=name, package=package, version=version)]


def _absolute(reference: str) -> str:
    path = pathlib.Path(reference)
    if path.is_file():
        return str(path.resolve())
    if _plugin(reference) is None:
        known = ", ".join(discovery.usable("traffic", shipped=())) or "none"
        raise errors.PluginError(
            f"expected a locustfile or the name of a traffic plug-in, got {reference!r}, which is "
            f"neither. Plug-ins: {known}"
        )
    return reference


def _plugin(reference: str) -> entry_points.Plugin | None:
    return None if pathlib.Path(reference).is_file() else discovery.named("traffic", reference)
