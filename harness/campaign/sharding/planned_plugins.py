"""The plug-ins where a plan was made: each machine must have the same, in the same versions.

Every run owes the checks of all installed plug-ins, so a machine without one would judge less.
"""

from collections.abc import Sequence

from harness import errors
from harness.extensions import discovery, entry_points
from harness.history import plans


def installed() -> list[plans.UsedPlugin]:
    """Return all plug-ins of this machine, by kind and name."""
    return [
        plans.UsedPlugin(
            kind=plugin.kind, name=plugin.name, package=plugin.package, version=plugin.version
        )
        for kind in entry_points.KINDS
        for plugin in discovery.found(kind)
    ]


def require_same(planned: Sequence[plans.UsedPlugin], where: str) -> None:
    """Raise UsageError if a plug-in of the plan is not here, or another one is."""
    here = installed()
    missing = [plugin for plugin in planned if plugin not in here]
    added = [plugin for plugin in here if plugin not in planned]
    if missing:
        raise errors.UsageError(
            f"{where}: expected the plug-ins of the plan on this machine, which lacks "
            f"{_names(missing)}: install them, or name their folders in FLAKE_HUNT_PLUGINS"
        )
    if added:
        raise errors.UsageError(
            f"{where}: expected the plug-ins of the plan on this machine, which also has "
            f"{_names(added)}: uninstall them, or write the plan again"
        )


def _names(plugins: Sequence[plans.UsedPlugin]) -> str:
    return ", ".join(
        f"{plugin.name} ({plugin.kind}) of {plugin.package} {plugin.version}" for plugin in plugins
    )
