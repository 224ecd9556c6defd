"""Rules about lists: how long, each item, no item twice."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause

Rule = Callable[[Any, str], Iterable[Cause]]


def limited(items: Sequence[Any], at: str, limit: int, rule: Rule) -> Iterator[Cause]:
    """A list that is too long is refused unread; otherwise each item is checked."""
    if len(items) > limit:
        yield field_errors.too_many(at, len(items), limit)
        return
    for index, item in enumerate(items):
        yield from rule(item, f"{at}[{index}]")


def distinct(
    items: Sequence[Any], at: str, limit: int, rule: Rule, key: Callable[[Any], Any]
) -> Iterator[Cause]:
    """Like `limited`, and no two items may have the same key."""
    yield from limited(items, at, limit, rule)
    if len(items) <= limit:
        yield from repeated([key(item) for item in items], at)


def repeated(keys: Sequence[Any], at: str) -> Iterator[Cause]:
    """The keys that were there before."""
    if len(keys) < 2:
        return
    seen: set[Any] = set()
    for index, key in enumerate(keys):
        if key in seen:
            yield field_errors.duplicate(f"{at}[{index}]", key)
        seen.add(key)


def itself(item: Any) -> Any:
    """The key of items that are their own keys."""
    return item
