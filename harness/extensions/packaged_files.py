"""Finds the files that packages bring along as plug-ins: scenarios and cluster profiles."""

import importlib.util
import pathlib

from harness import errors
from harness.extensions import entry_points, loading


def find(plugin: entry_points.Plugin, suffix: str) -> pathlib.Path:
    """Return the file of a plug-in: `<name><suffix>` in the package that its entry point names.

    The package is found, not imported; those around it are. Raises PluginError if it is missing.
    """
    loading.make_importable(plugin)
    try:
        spec = importlib.util.find_spec(plugin.module)
    except (Exception, SystemExit) as error:
        raise _missing(plugin, suffix, loading.told(error)) from error
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
