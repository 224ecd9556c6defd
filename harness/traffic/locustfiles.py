"""Which locustfile or traffic plug-in a scenario names; found and tried when a run is planned.

Imports neither locust nor gevent: the users are imported by a process of their own.
"""

import json
import pathlib

from harness import errors
from harness.extensions import discovery, isolation
from harness.history import files, plans
from harness.scenario import specs, traffic_specs

_PROCESS = "harness.traffic.plugged_users"


def resolved(scenario: specs.Scenario) -> tuple[specs.Scenario, list[plans.UsedPlugin]]:
    """Return the scenario with the absolute path of its locustfile, and what its plan says of it.

    The file or plug-in is tried. The version of a file is its digest. Raises PluginError if the
    file or plug-in is missing, or has no users.
    """
    traffic = scenario.traffic
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


def override(reference: str) -> list[str]:
    """Return the change of a scenario that gives it a locustfile; none for an empty reference.

    The path of a file becomes absolute: workers read it, too.
    """
    if not reference:
        return []
    path = pathlib.Path(reference)
    chosen = str(path.resolve()) if path.is_file() else reference
    return [f"traffic.locustfile={json.dumps(chosen)}"]
