"""Keys of scenarios that are gone, and what to do instead."""

from collections.abc import Mapping
from typing import Any

_ONE_MACHINE = "all workers of a load run on one machine, traffic.processes of them"
KEYS = {
    "traffic.workers": f"Remove it: {_ONE_MACHINE}",
    "traffic.bind": f"Remove it: {_ONE_MACHINE}",
    "traffic.bind_is_open": f"Remove it: {_ONE_MACHINE}",
    "traffic.workers_wait_s": f"Remove it: {_ONE_MACHINE}",
}
"""Former dotted key -> what to do instead."""


def without(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a recorded run without these keys."""
    return {
        name: {key: item for key, item in value.items() if f"{name}.{key}" not in KEYS}
        if isinstance(value, dict)
        else value
        for name, value in settings.items()
    }
