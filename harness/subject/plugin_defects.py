"""Defects that other packages bring along as plug-ins: subclasses of a part of correct code."""

import dataclasses
import functools
from typing import Any

from harness import errors
from harness.extensions import discovery, entry_points, loading
from harness.subject import replacements
from harness.subject.claim_control import controller_parts
from harness.subject.scheduling import schedulers

_WHOLES: tuple[type[Any], ...] = (schedulers.SchedulerParts, controller_parts.ControllerParts)


def replacement(name: str) -> replacements.Replacement | None:
    """Return the defect of this name, of scheduler or claim controller; None if there is none.

    It is imported. Raises PluginError if it cannot be used.
    """
    plugin = discovery.named("defects", name)
    return None if plugin is None else _loaded(plugin)


@functools.cache
def _loaded(plugin: entry_points.Plugin) -> replacements.Replacement:
    found = loading.load(plugin)
    parts = list(_parts_of(found)) if isinstance(found, type) else []
    if not parts:
        raise errors.PluginError(
            f"expected {plugin} to be a subclass of a part of harness.subject.scheduling.schedulers."
            f"SchedulerParts or of the claim controller's ControllerParts, got {found!r:.100}"
        )
    whole, part = parts[0]
    made = replacements.Replacement(
        part, found, whole, shows_otherwise=bool(getattr(found, "shows_otherwise", False))
    )
    if not (made.overridden() and found.__doc__):
        raise errors.PluginError(
            f"expected {plugin} to override a method and to say in its docstring what is wrong"
        )
    return made


def _parts_of(found: type[Any]) -> "list[tuple[type[Any], str]]":
    """Return the parts that a class is a subclass of."""
    return [
        (whole, field.name)
        for whole in _WHOLES
        for field in dataclasses.fields(whole)
        if issubclass(found, default := getattr(whole(), field.name)) and found is not default
    ]
