"""All plug-ins in a list, and which of them can be used."""

from collections.abc import Collection, Mapping

import msgspec

from harness import errors
from harness.extensions import descriptions, discovery, entry_points, source_folders


class ListedPlugin(msgspec.Struct, frozen=True, kw_only=True):
    """A plug-in in the list."""

    kind: str
    name: str
    package: str
    version: str
    target: str
    """`package.module`, or `package.module:attribute`."""
    folder: str
    """Folder that FLAKE_HUNT_PLUGINS names; empty: it is installed."""
    problem: str
    """Why it cannot be used, in a sentence; empty if it can."""


class PluginList(msgspec.Struct, frozen=True, kw_only=True):
    """The output of `flake-hunt plugins --output json`."""

    schema: int = 1
    plugins: list[ListedPlugin]
    problem: str
    """The error in FLAKE_HUNT_PLUGINS, whose plug-ins are missing then; empty: none."""


def listed(shipped: Mapping[entry_points.Kind, Collection[str]]) -> PluginList:
    """Return all plug-ins by kind and name, each loaded in a process of its own.

    `shipped`: the names of what Flake Hunt ships of each kind.
    """
    try:
        source_folders.packages()
    except errors.PluginError as error:
        return PluginList(plugins=[], problem=str(error))
    plugins = {kind: discovery.found(kind) for kind in entry_points.KINDS}
    return PluginList(
        plugins=[
            _listed(plugin, plugins[kind], shipped.get(kind, ()))
            for kind in entry_points.KINDS
            for plugin in plugins[kind]
        ],
        problem="",
    )


def _listed(
    plugin: entry_points.Plugin,
    others: Collection[entry_points.Plugin],
    shipped: Collection[str],
) -> ListedPlugin:
    objection = discovery.objection_to(plugin, others, shipped=shipped)
    return ListedPlugin(
        kind=plugin.kind,
        name=plugin.name,
        package=plugin.package,
        version=plugin.version,
        target=plugin.target,
        folder=plugin.folder,
        problem=objection or descriptions.problem(plugin),
    )
