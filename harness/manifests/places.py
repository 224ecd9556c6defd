"""Values in an object by their place, whatever else the object has.

A place is `spec.devices[].name`, in which `[]` stands for each item of a list. Where the object has
nothing, or something of another shape, nothing is found: an API server says what is wrong with it.
"""

from collections.abc import Iterator
from typing import Any

from harness.model.objects import Object


def each(obj: Any, place: str) -> Iterator[Any]:
    """Yield the values at a place, those that are null aside; empty: the object itself."""
    if not place:
        yield obj
        return
    key, _, rest = place.partition(".")
    found = obj.get(key.removesuffix("[]")) if isinstance(obj, dict) else None
    is_list = key.endswith("[]")
    for item in (found if isinstance(found, list) else []) if is_list else [found]:
        if item is not None:
            yield from each(item, rest)


def tables(obj: Any, place: str) -> Iterator[Object]:
    return (found for found in each(obj, place) if isinstance(found, dict))


def value(obj: Any, places: str) -> Any:
    """Return the first value at a place, None without one; `a|b`: at a, or else at b."""
    return next((found for one in places.split("|") for found in each(obj, one)), None)
