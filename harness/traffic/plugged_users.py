"""The users of a locustfile or a traffic plug-in, in place of those of the scenario's profile.

Importing them imports Locust, so that the planner of a run asks a process of its own about them.
"""

import functools
import importlib.util
import inspect
import json
import pathlib
import sys
from types import ModuleType
from typing import Any

import locust
from locust.util import load_locustfile

from harness import errors
from harness.extensions import discovery, isolation, loading
from harness.traffic import users


def classes(reference: str) -> dict[str, type[users.ClaimUser]]:
    """Return the user classes of a locustfile's path or a plug-in's name, by their names.

    Raises PluginError if there are none, or it cannot be imported.
    """
    given = _given(reference)
    chosen: dict[str, Any] = {
        name: item
        for name, item in given.items()
        if inspect.isclass(item) and issubclass(item, locust.User) and not vars(item)["abstract"]
    }
    for name, item in chosen.items():
        _require_ours(reference, name, item)
    if not chosen:
        raise errors.PluginError(
            f"expected a subclass of harness.traffic.users.ClaimUser in {reference}, got none"
        )
    return chosen


def shape(reference: str) -> dict[str, type[locust.LoadTestShape]]:
    """Return the LoadTestShape of a locustfile or plug-in by its name; empty: it has none.

    Raises PluginError if there are several, and as `classes` does.
    """
    found = {
        name: item
        for name, item in _given(reference).items()
        if load_locustfile.is_shape_class(item)
    }
    if len(found) > 1:
        raise errors.PluginError(
            f"expected at most one LoadTestShape in {reference}, got {', '.join(found)}: remove all "
            "but one, or make one the abstract base of the other"
        )
    return found


def _require_ours(reference: str, name: str, item: type[Any]) -> None:
    if not issubclass(item, users.ClaimUser):
        raise errors.PluginError(
            f"expected users that are subclasses of harness.traffic.users.ClaimUser in {reference}, "
            f"got {name}, whose calls would not be recorded"
        )
    has_work, tasks = item.work is not users.ClaimUser.work, item.own_tasks()
    if has_work == bool(tasks):
        raise errors.PluginError(
            f"expected methods with @task or other tasks, or a method work, in {name} of "
            f"{reference}, got {'both' if has_work else 'neither'}"
        )


@functools.cache
def _given(reference: str) -> dict[str, Any]:
    """Return the names of a module, or the one name of a plug-in that is a class."""
    path = pathlib.Path(reference)
    if not path.is_file():
        found = loading.load(discovery.require("traffic", reference))
        is_module = isinstance(found, ModuleType)
        return vars(found) if is_module else {getattr(found, "__name__", ""): found}
    spec = importlib.util.spec_from_file_location("flake_hunt_locustfile", path)
    if spec is None or spec.loader is None:
        raise errors.PluginError(f"expected a locustfile, whose name ends in .py, got {reference}")
    try:
        module = importlib.util.module_from_spec(spec)
        sys.path.append(str(path.parent))
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise errors.PluginError(
            f"expected a locustfile, got {reference}, which failed: {loading.told(error)}"
        ) from error
    return vars(module)


if __name__ == "__main__":
    isolation.answer(
        lambda message: json.dumps(
            sorted([*classes(message.decode()), *shape(message.decode())])
        ).encode()
    )
