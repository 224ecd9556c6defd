"""Set the defaults of unset fields, by functions that are compiled once per type from `defaults`.

Only parts whose types have defaults are visited, so a pod takes a few microseconds and a ConfigMap
none. Objects must match their types, as decoded objects do.
"""

import copy
import functools
from collections.abc import Callable
from typing import Any

from harness.apiserver.scheme import api_types, defaults
from harness.apiserver.scheme.json_document import Document

Filler = Callable[[Any], None]


def fill(kind: api_types.Type, document: Document) -> None:
    """Set the defaults of an object's unset fields, in place."""
    if (filler := _filler(kind)) is not None:
        filler(document)


@functools.cache
def _filler(kind: api_types.Type) -> Filler | None:
    """Return the function that sets the defaults of a value, None for types without defaults."""
    if not _has_defaults(kind, ()):
        return None
    if kind.item is not None:
        return _each(kind, _filler(kind.item))
    return _object_filler(kind)


def _has_defaults(kind: api_types.Type, above: tuple[api_types.Type, ...]) -> bool:
    if kind in above:
        return False
    name = kind.name.removeprefix("io.k8s.api.")
    if name in defaults.CONSTANTS or name in defaults.RULES:
        return True
    below = [field.type for field in kind.fields.values()] + ([kind.item] if kind.item else [])
    return any(_has_defaults(child, (*above, kind)) for child in below)


def _each(kind: api_types.Type, fill_item: Filler | None) -> Filler:
    def fill_each(value: Any) -> None:
        for item in value.values() if kind.kind == "map" else value:
            fill_item(item)  # type: ignore[misc]  # None only if the list has no defaults either

    return fill_each


def _object_filler(kind: api_types.Type) -> Filler:
    name = kind.name.removeprefix("io.k8s.api.")
    constants = defaults.CONSTANTS.get(name, {})
    rule = defaults.RULES.get(name)
    unset = {key: (None,) if kind.field(key).pointer else (None, "") for key in constants}
    parts = [
        (field.name, filler, field.zero if field.always else None)
        for field in kind.fields.values()
        if (filler := _filler(field.type)) is not None
    ]

    def fill_object(value: Any) -> None:
        for name, filler, zero in parts:
            child = value.get(name)
            if child is None and zero is not None:
                child = value[name] = zero()
            if child is not None:
                filler(child)
        for name, constant in constants.items():
            if value.get(name) in unset[name]:
                value[name] = copy.copy(constant) if isinstance(constant, dict | list) else constant
        if rule is not None:
            rule(value)

    return fill_object
