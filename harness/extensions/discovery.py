"""Finds plug-ins by their entry points, without importing any.

An installed package declares them in its metadata, and a folder that FLAKE_HUNT_PLUGINS names in
its pyproject.toml. A name belongs to one package, and what Flake Hunt ships keeps its name.
"""

import functools
import importlib.metadata
import os
import pathlib
import re
import sys
import tomllib
from collections.abc import Collection, Iterator
from typing import Any

from harness import errors, suggestions
from harness.extensions import entry_points

VARIABLE = "FLAKE_HUNT_PLUGINS"
"""Environment variable with the folders, separated as those of PATH; processes inherit it."""


def _folders() -> list[str]:
    """Return absolute paths, and pass them on: other processes may start in other folders."""
    value = os.environ.get(VARIABLE, "")
    folders = [os.path.abspath(name) for name in value.split(os.pathsep) if name]  # noqa: PTH100 - links stay as they are
    if folders:
        os.environ[VARIABLE] = os.pathsep.join(folders)
    return folders


def _package(folder: pathlib.Path) -> tuple[str, list[entry_points.Plugin]]:
    """Return the name and the plug-ins of a package.

    Raises PluginError for a folder without a pyproject.toml with name and entry points.
    """
    path = folder / "pyproject.toml"
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        return str(project["name"]), list(_plugins(folder, project))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _reject(folder, f"{path.name} cannot be read ({error})") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise _reject(folder, f"{path.name} lacks [project] with a name ({error!r})") from error


def _plugins(folder: pathlib.Path, project: dict[str, Any]) -> Iterator[entry_points.Plugin]:
    source = folder / "src" if (folder / "src").is_dir() else folder
    groups = project.get("entry-points", {})
    for kind in entry_points.KINDS:
        for name, target in groups.get(entry_points.group(kind), {}).items():
            yield entry_points.Plugin(
                kind=kind,
                name=name,
                target=str(target),
                package=str(project["name"]),
                version=str(project.get("version", "0")),
                folder=str(source.resolve()),
            )


def _reject(folder: pathlib.Path, why: str) -> errors.PluginError:
    return errors.PluginError(
        f"expected a folder of a package in {VARIABLE}, got {str(folder)!r}: {why}"
    )


_NAME = re.compile(r"[a-z0-9]([-_a-z0-9]{0,48}[a-z0-9])?")
_CHECK_NAME = re.compile(r"[a-z]([a-z0-9_]{0,48}[a-z0-9])?")


def found(kind: entry_points.Kind) -> list[entry_points.Plugin]:
    """Return all plug-ins of a kind, sorted by name and package; names can occur twice.

    A package in FLAKE_HUNT_PLUGINS replaces the installed one of its name. Raises PluginError for a
    folder there that is no package.
    """
    sources = [_package(pathlib.Path(name)) for name in _folders()]
    replaced = {name for name, _ in sources}
    plugins = [plugin for _, own in sources for plugin in own if plugin.kind == kind]
    installed = _installed(kind, tuple(sys.path))
    plugins += [plugin for plugin in installed if plugin.package not in replaced]
    return sorted(plugins, key=lambda plugin: (plugin.name, plugin.package))


@functools.cache
def _installed(kind: entry_points.Kind, _: tuple[str, ...]) -> tuple[entry_points.Plugin, ...]:
    """Return the plug-ins of installed packages; each look reads the metadata of all of them."""
    return tuple(
        entry_points.Plugin(
            kind=kind,
            name=entry.name,
            target=entry.value,
            package=entry.dist.name,
            version=entry.dist.version,
        )
        for entry in importlib.metadata.entry_points(group=entry_points.group(kind))
        if entry.dist is not None
    )


def named(
    kind: entry_points.Kind, name: str, *, shipped: Collection[str] = ()
) -> entry_points.Plugin | None:
    """Return the plug-in of this name; None if there is none, or Flake Hunt ships one.

    Raises PluginError if it cannot be used by its name.
    """
    if name in shipped:
        return None
    same = [plugin for plugin in found(kind) if plugin.name == name]
    if not same:
        return None
    if objection := objection_to(same[0], same):
        raise errors.PluginError(objection)
    return same[0]


def usable(kind: entry_points.Kind, *, shipped: Collection[str]) -> list[str]:
    plugins = found(kind)
    return [item.name for item in plugins if not objection_to(item, plugins, shipped=shipped)]


def require_all(kind: entry_points.Kind, *, shipped: Collection[str]) -> list[entry_points.Plugin]:
    """Return all plug-ins of a kind. Raises PluginError if one cannot be used by its name."""
    plugins = found(kind)
    for plugin in plugins:
        if objection := objection_to(plugin, plugins, shipped=shipped):
            raise errors.PluginError(objection)
    return plugins


def require(
    kind: entry_points.Kind, name: str, *, shipped: Collection[str] = ()
) -> entry_points.Plugin:
    """Return the plug-in of this name. Raises PluginError if there is none."""
    plugin = named(kind, name, shipped=shipped)
    if plugin is None:
        known = usable(kind, shipped=shipped)
        raise errors.PluginError(
            f"expected a plug-in of the group {entry_points.group(kind)}, got {name!r}. Installed: "
            f"{', '.join(known) or 'none'}.{suggestions.did_you_mean(name, known)}"
        )
    return plugin


def objection_to(
    plugin: entry_points.Plugin,
    plugins: Collection[entry_points.Plugin],
    *,
    shipped: Collection[str] = (),
) -> str:
    """Return why a plug-in cannot be used by its name, in a sentence; empty if it can.

    `plugins` are those of its kind, `shipped` the names of what Flake Hunt ships of that kind.
    """
    pattern = _CHECK_NAME if plugin.kind == "checks" else _NAME
    if not pattern.fullmatch(plugin.name):
        return f"expected a name of the form {pattern.pattern} for {plugin}: rename its entry point"
    if plugin.name in shipped:
        return (
            f"expected a name that Flake Hunt does not ship itself for {plugin}: rename its entry "
            f"point, or remove {plugin.package}"
        )
    others = [item for item in plugins if item.name == plugin.name and item != plugin]
    if not others:
        return ""
    first, second = sorted([plugin, others[0]], key=lambda item: item.package)
    return (
        f"expected one {plugin.noun} {plugin.name!r}, got two, of {first.package} {first.version} "
        f"and of {second.package} {second.version}: remove one of the packages"
    )
