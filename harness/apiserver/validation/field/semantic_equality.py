"""Whether two values are the same to the server, for which an absent field, null and an empty list are one."""

from typing import Any


def same(one: Any, other: Any) -> bool:
    """Equal but for what is empty."""
    return bool(one == other or _without_empty(one) == _without_empty(other))


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in (None, [], {})}
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value
