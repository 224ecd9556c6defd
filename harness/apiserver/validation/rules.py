"""Rules of fields, and how rules of objects are made of them.

A rule gets the value of a field, None if it is absent, and its path. It yields field errors, none
if the value is valid. Rules of a single kind do not belong here.
"""

import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.apiserver import json_codec
from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.validation import formats

Rule = Callable[[Any, str], Iterable[Cause]]
_CACHE_SIZE = 1024


def fields(*rows: tuple[str, Rule]) -> Rule:
    """Return the rule of an object: `rows` are paths below it, and the rules for what is there.

    The path "" is the object itself. Structs on the way that are absent count as empty.
    """
    compiled = [(path.split(".") if path else [], path, rule) for path, rule in rows]

    def check(value: Document | None, at: str) -> Iterator[Cause]:
        for keys, path, rule in compiled:
            found: Any = value or {}
            for key in keys:
                found = found.get(key) if found else None
            yield from rule(found, f"{at}.{path}" if at and path else at or path)

    return check


def whole(*rows: tuple[str, Rule]) -> Callable[..., Iterable[Cause]]:
    """Return the rule of whole objects, which get the object, and may get it as it was."""
    rule = fields(*rows)
    return lambda document, *_: rule(document, "")


def given(rule: Rule) -> Rule:
    """Apply a rule if the field is set, also if it is empty."""
    return lambda value, at: () if value is None else rule(value, at)


def filled(rule: Rule) -> Rule:
    """Apply a rule if the field is not empty."""
    return lambda value, at: rule(value, at) if value else ()


def present(rule: Rule) -> Rule:
    """Require a field to be set, also if it is empty, and to obey a rule."""
    return lambda value, at: [field_errors.required(at)] if value is None else rule(value, at)


def required(rule: Rule | None = None, why: str = "") -> Rule:
    """Require a field to be set and not empty, and to obey a rule."""

    def check(value: Any, at: str) -> Iterable[Cause]:
        if not value:
            return [field_errors.required(at, why)]
        return rule(value, at) if rule else ()

    return check


def text(problems: formats.Problems) -> Rule:
    """Require a string of a format; an absent one counts as empty."""
    return lambda value, at: [
        field_errors.invalid(at, value or "", problem) for problem in problems(value or "")
    ]


def one_of(*known: str) -> Rule:
    """Require a value of an enumeration; an absent one counts as empty."""
    return lambda value, at: (
        () if value in known else [field_errors.unsupported(at, value or "", known)]
    )


def at_least(least: int) -> Rule:
    """Require a number not to be smaller; an absent one counts as 0."""
    return wrong_if(
        lambda value: (value or 0) < least, f"must be greater than or equal to {least}", default=0
    )


def wrong_if(is_wrong: Callable[[Any], bool], why: str, *, default: Any = None) -> Rule:
    """Reject values as invalid; `default` is shown for an absent one."""
    return lambda value, at: (
        [field_errors.invalid(at, default if value is None else value, why)]
        if is_wrong(value)
        else ()
    )


def no_longer_than(most: int) -> Rule:
    """Reject strings of more bytes."""
    return lambda value, at: (
        [field_errors.too_long(at, most)] if len((value or "").encode()) > most else ()
    )


def no_more_than(most: int) -> Rule:
    """Reject lists of more items."""
    return lambda value, at: (
        [field_errors.too_many(at, len(value), most)] if len(value or ()) > most else ()
    )


def every(*rules: Rule) -> Rule:
    return lambda value, at: (cause for rule in rules for cause in rule(value, at))


def items(
    rule: Rule,
    most: int | None = None,
    *,
    key: Callable[[Any], Hashable] | None = None,
    key_field: str = "",
) -> Rule:
    """Apply a rule to each item of a list that has not too many.

    With a `key` none may come twice; `key_field` is where the error is reported.
    """

    def check(listed: list[Any], at: str) -> Iterator[Cause]:
        if too_many := () if most is None else no_more_than(most)(listed, at):
            yield from too_many
            return
        for index, item in enumerate(listed):
            yield from rule(item, f"{at}[{index}]")
        if key is not None and len(listed) > 1:
            yield from _repeated(listed, key, at, f".{key_field}" if key_field else "")

    return filled(check)


def _repeated(
    listed: list[Any], key: Callable[[Any], Hashable], at: str, where: str
) -> Iterator[Cause]:
    seen = set()
    for index, item in enumerate(listed):
        if (found := key(item)) in seen:
            yield field_errors.duplicate(f"{at}[{index}]{where}", found)
        seen.add(found)


def name_of(item: Document) -> str:
    """Return the name of an item of a list: a key for `items`."""
    return item.get("name") or ""


def exactly_one(
    *keys: str,
    missing: Callable[[str, str], Cause] | None = None,
    unset: Sequence[Any] = (None, []),
) -> Rule:
    """Require one of these fields of an object; `missing` makes the error if none is set."""
    names = ", ".join(f"`{key}`" for key in keys)
    why = f"exactly one of {names} is required"

    def check(value: Document, at: str) -> Iterator[Cause]:
        count = sum(value.get(key) not in unset for key in keys)
        if not count and missing is not None:
            yield missing(at, why)
        elif count != 1:
            yield field_errors.invalid(at, "", why)

    return check


def cached(rule: Rule, at: str) -> Rule:
    """Return the rule with a cache: objects that are made from one template have equal specs."""

    @functools.lru_cache(_CACHE_SIZE)
    def by_data(data: bytes) -> tuple[Cause, ...]:
        return tuple(rule(json_codec.decode(data), at))

    return lambda value, _: by_data(json_codec.encode(value))


def changed(
    table: Mapping[str, Rule], document: Document, old: Document | None, at: str
) -> Iterator[Cause]:
    """Apply rules to the fields that an update has changed; without `old` to all."""
    for key, rule in table.items():
        if old is None or not semantically_equal(document.get(key), old.get(key)):
            yield from rule(document.get(key), f"{at}.{key}")


def immutable(path: str) -> Callable[[Document, Document], Iterator[Cause]]:
    """Return the rule of an update that a field may not change."""
    keys = path.split(".")

    def check(document: Document, old: Document) -> Iterator[Cause]:
        now: Any = document
        before: Any = old
        for key in keys:
            now, before = (now or {}).get(key), (before or {}).get(key)
        if not semantically_equal(now, before):
            yield field_errors.immutable(path, now)

    return check


def semantically_equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal if fields that are null, `[]` or `{}` count as absent.

    After `equality.Semantic` of k8s.io/apimachinery/pkg/api/equality.
    """
    return bool(one == other or _without_empty(one) == _without_empty(other))


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in (None, [], {})}
    if isinstance(value, list):
        return [_without_empty(item) for item in value]
    return value
