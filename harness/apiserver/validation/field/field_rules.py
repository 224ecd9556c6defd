"""Rules for any field: required, enum, range; list length, duplicates; semantic equality.

Each rule yields field errors at the path `at`, none if the value is valid.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from harness.apiserver.codec import json_codec
from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document

_CACHE_SIZE = 1024
Rule = Callable[[Any, str], Iterable[Cause]]
"""A rule for one item of a list, called with the item and its path."""


def cached(rule: Callable[[Document], Iterable[Cause]]) -> Callable[[Document], Iterable[Cause]]:
    """Return the rule with a cache: objects that are created from one template have equal specs."""

    @functools.lru_cache(_CACHE_SIZE)
    def by_data(data: bytes) -> tuple[Cause, ...]:
        return tuple(rule(json_codec.decode(data)))

    return lambda document: by_data(json_codec.encode(document))


def required(document: Document, at: str, *keys: str) -> Iterator[Cause]:
    """Require each of these fields to be set and not empty."""
    for key in keys:
        if not document.get(key):
            yield field_errors.required(f"{at}.{key}")


def enum_field(document: Document, at: str, key: str, known: Sequence[str]) -> Iterator[Cause]:
    """Reject a field that is set, but to none of the known values."""
    return enum(document.get(key), f"{at}.{key}", known)


def enum(value: str | None, at: str, known: Sequence[str]) -> Iterator[Cause]:
    """Reject a value that is not None and none of the known values."""
    if value is not None and value not in known:
        yield field_errors.unsupported(at, value, known)


def required_enum_field(
    document: Document, at: str, key: str, known: Sequence[str], why: str
) -> Iterator[Cause]:
    """Require a field to be set to one of the known values; `why` explains why it is required."""
    if not document.get(key):
        yield field_errors.required(f"{at}.{key}", why)
    else:
        yield from enum_field(document, at, key, known)


def max_items(items: Sequence[Any], at: str, limit: int, rule: Rule) -> Iterator[Cause]:
    """Reject a list of more than `limit` items; otherwise apply the rule to each item."""
    if len(items) > limit:
        yield field_errors.too_many(at, len(items), limit)
        return
    for index, item in enumerate(items):
        yield from rule(item, f"{at}[{index}]")


def unique_items(
    items: Sequence[Any], at: str, limit: int, rule: Rule, key: Callable[[Any], Any]
) -> Iterator[Cause]:
    """Apply `max_items`, then reject items whose key occurs more than once."""
    yield from max_items(items, at, limit, rule)
    if len(items) <= limit:
        yield from duplicates([key(item) for item in items], at)


def duplicates(keys: Sequence[Any], at: str) -> Iterator[Cause]:
    """Report each key that occurs earlier in the list."""
    if len(keys) < 2:
        return
    seen: set[Any] = set()
    for index, key in enumerate(keys):
        if key in seen:
            yield field_errors.duplicate(f"{at}[{index}]", key)
        seen.add(key)


def itself(item: Any) -> Any:
    """Return the item: the key function for lists of strings."""
    return item


def semantically_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal if fields that are null, `[]` or `{}` count as absent.

    After `equality.Semantic` of k8s.io/apimachinery/pkg/api/equality.
    """
    return bool(one == other or _without_empty(one) == _without_empty(other))


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        items = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in items.items() if item not in (None, [], {})}
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value
