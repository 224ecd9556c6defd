"""Packages of plug-ins that are used from their source, without installing them.

FLAKE_HUNT_PLUGINS names their folders. Name, version and entry points are those of `[project]` in
the folder's pyproject.toml; modules are imported from the folder, or from `src` in it.
"""

import dataclasses
import os
import pathlib
import tomllib
from collections.abc import Iterator
from typing import Any

from harness import errors
from harness.extensions import entry_points

VARIABLE = "FLAKE_HUNT_PLUGINS"
"""Environment variable with the folders, separated as those of PATH; processes inherit it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A package of plug-ins in a folder."""

    name: str
    plugins: tuple[entry_points.Plugin, ...]


def packages() -> list[Source]:
    """Return the packages that FLAKE_HUNT_PLUGINS names.

    Raises PluginError for a folder without a pyproject.toml with name and entry points.
    """
    return [_package(pathlib.Path(name)) for name in _folders()]


def _folders() -> list[str]:
    """Return absolute paths, and pass them on: other processes may start in other folders."""
    value = os.environ.get(VARIABLE, "")
    folders = [os.path.abspath(name) for name in value.split(os.pathsep) if name]  # noqa: PTH100 - links stay as they are
    if folders:
        os.environ[VARIABLE] = os.pathsep.join(folders)
    return folders


def _package(folder: pathlib.Path) -> Source:
    path = folder / "pyproject.toml"
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        name, groups = str(project["name"]), project.get("entry-points", {})
        return Source(name=name, plugins=tuple(_plugins(folder, project, groups)))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _reject(folder, f"{path.name} cannot be read ({error})") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise _reject(folder, f"{path.name} lacks [project] with a name ({error!r})") from error


def _plugins(
    folder: pathlib.Path, project: dict[str, Any], groups: dict[str, Any]
) -> Iterator[entry_points.Plugin]:
    source = folder / "src" if (folder / "src").is_dir() else folder
    for group_name, entries in groups.items():
        kind = entry_points.kind_of(group_name)
        if kind is None:
            continue
        for name, target in entries.items():
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
