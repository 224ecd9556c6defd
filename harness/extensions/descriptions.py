"""Asks plug-ins that are values what they are, in a process of their own; and that process."""

import functools
import sys
from collections.abc import Collection, Mapping

import msgspec

from harness import errors
from harness.extensions import contracts, discovery, entry_points, isolation, loading


@functools.cache
def subject(plugin: entry_points.Plugin) -> contracts.Subject:
    """Return how a scheduler is started. Raises PluginError if the plug-in does not say it."""
    message = msgspec.json.encode(plugin)
    answer = isolation.ask(__name__, [], message, plugin=str(plugin))
    try:
        found = msgspec.json.decode(answer, type=contracts.Subject)
    except msgspec.ValidationError as error:
        raise errors.PluginError(
            f"expected {plugin} to be a harness.api.Subject with a list of words ({error})"
        ) from error
    if not found.command:
        raise errors.PluginError(f"expected a program in the command of {plugin}, got none")
    return found


def problem(plugin: entry_points.Plugin) -> str:
    """Return why a plug-in cannot be used, in a sentence; empty if its file or object is there."""
    try:
        isolation.ask(__name__, ["find"], msgspec.json.encode(plugin), plugin=str(plugin))
    except errors.PluginError as error:
        return str(error)
    return ""


def _find(message: bytes) -> bytes:
    """Find or load a plug-in. Raises PluginError if it is not there."""
    plugin = msgspec.json.decode(message, type=entry_points.Plugin)
    if plugin.kind in ("scenarios", "clusters"):
        return str(loading.find(plugin, ".toml")).encode()
    return str(loading.load(plugin)).encode()


def _describe(message: bytes) -> bytes:
    """Return a plug-in as JSON. Raises PluginError if it is nothing that its kind may be."""
    plugin = msgspec.json.decode(message, type=entry_points.Plugin)
    found = loading.load(plugin)
    if not isinstance(found, contracts.Subject):
        raise errors.PluginError(
            f"expected {plugin} to be a harness.api.Subject, got {type(found).__name__}: "
            f"change {plugin.target}"
        )
    try:
        return msgspec.json.encode(found)
    except (TypeError, ValueError, RecursionError) as error:
        raise errors.PluginError(
            f"expected words in {plugin}, got something else: {loading.told(error)}"
        ) from error


if __name__ == "__main__":
    isolation.answer(_find if "find" in sys.argv else _describe)


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
    """The output of `flake-hunt doctor --plugins --output json`."""

    schema: int = 1
    plugins: list[ListedPlugin]
    problem: str
    """The error in FLAKE_HUNT_PLUGINS, whose plug-ins are missing then; empty: none."""


def listed(shipped: Mapping[entry_points.Kind, Collection[str]]) -> PluginList:
    """Return all plug-ins by kind and name, each loaded in a process of its own.

    `shipped`: the names of what Flake Hunt ships of each kind.
    """
    try:
        discovery.packages()
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
        problem=objection or problem(plugin),
    )
