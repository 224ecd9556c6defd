"""Imports plug-ins, where they are used."""

import importlib.metadata
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
    """Return an error of a plug-in in one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:400]
