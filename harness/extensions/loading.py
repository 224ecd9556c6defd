"""Imports plug-ins, where they are used."""

import importlib.metadata
import importlib.util
import pathlib
import sys
from typing import Any

from harness import errors
from harness.extensions import entry_points


def load(plugin: entry_points.Plugin) -> Any:
    """Return the object or module of a plug-in.

    Raises PluginError if it cannot be imported. Code of the plug-in runs in this process.
    """
    make_importable(plugin)
    entry = importlib.metadata.EntryPoint(
        name=plugin.name, value=plugin.target, group=entry_points.group(plugin.kind)
    )
    try:
        return entry.load()
    except (Exception, SystemExit) as error:
        raise errors.PluginError(
            f"expected {plugin} to load, but {plugin.target} failed: {told(error)}"
        ) from error


def make_importable(plugin: entry_points.Plugin) -> None:
    """Put the folder of a plug-in that is not installed at the end of the search path."""
    if plugin.folder and plugin.folder not in sys.path:
        sys.path.append(plugin.folder)


def told(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]


def find(plugin: entry_points.Plugin, suffix: str) -> pathlib.Path:
    """Return the file of a plug-in: `<name><suffix>` in the package that its entry point names.

    The package is found, not imported; those around it are. Raises PluginError if it is missing.
    """
    make_importable(plugin)
    try:
        spec = importlib.util.find_spec(plugin.module)
    except (Exception, SystemExit) as error:
        raise _missing(plugin, suffix, told(error)) from error
    folders = (spec.submodule_search_locations if spec else None) or ()
    for folder in folders:
        path = pathlib.Path(folder) / f"{plugin.name}{suffix}"
        if path.is_file():
            return path
    where = f"{plugin.module} has no such file" if folders else f"{plugin.module} is no package"
    raise _missing(plugin, suffix, where)


def _missing(plugin: entry_points.Plugin, suffix: str, why: str) -> errors.PluginError:
    return errors.PluginError(
        f"expected {plugin} to be {plugin.name}{suffix} in the package {plugin.module}: {why}"
    )
