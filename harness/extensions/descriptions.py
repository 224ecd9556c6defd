"""Asks plug-ins that are values what they are, in a process of their own; and that process."""

import dataclasses
import functools
from collections.abc import Collection, Mapping

import msgspec

from harness import errors
from harness.extensions import contracts, discovery, entry_points, isolation, loading


@functools.cache
def subject(plugin: entry_points.Plugin) -> contracts.Subject:
    """Return how a scheduler is started. Raises PluginError if the plug-in does not say it."""
    try:
        found = msgspec.json.decode(_asked(plugin), type=contracts.Subject)
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
        _asked(plugin)
    except errors.PluginError as error:
        return str(error)
    return ""


def _asked(plugin: entry_points.Plugin) -> bytes:
    return isolation.ask(__name__, [], msgspec.json.encode(plugin), plugin=str(plugin))


def _described(message: bytes) -> bytes:
    """Return the file of a plug-in, or its object. Raises PluginError if it is not there."""
    plugin = msgspec.json.decode(message, type=entry_points.Plugin)
    if plugin.kind in ("scenarios", "clusters"):
        return str(loading.find(plugin, ".toml")).encode()
    found = loading.load(plugin)
    if plugin.kind != "subjects":
        return str(found).encode()
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
    isolation.answer(_described)


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
        found_of = {kind: discovery.found(kind) for kind in entry_points.KINDS}
    except errors.PluginError as error:
        return PluginList(plugins=[], problem=str(error))
    rows = []
    for kind, found in found_of.items():
        for plugin in found:
            why = discovery.objection_to(plugin, found, shipped=shipped.get(kind, ()))
            rows.append(ListedPlugin(**dataclasses.asdict(plugin), problem=why or problem(plugin)))
    return PluginList(plugins=rows, problem="")
