"""The differences between two versions of an API object, as lines of paths and values."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

LINES_MAX = 60
"""Lines of one difference."""
VALUE_MAX = 300
"""Characters of a value."""
_IGNORED = frozenset({"metadata.managedFields"})
"""Paths that say who wrote a field, in many more lines than the field itself."""


@dataclasses.dataclass(frozen=True, slots=True)
class Line:
    """One value that was removed or added."""

    sign: str
    """`-` or `+`."""
    text: str
    """Path and value as JSON."""


def differences(before: Any, after: Any) -> list[Line]:
    """Return the removed and the added values, by path; at most LINES_MAX, then a line with `…`."""
    lines: list[Line] = []
    try:
        for line in _compared("", before, after):
            if len(lines) == LINES_MAX:
                return [*lines, Line("…", "more lines")]
            lines.append(line)
    except RecursionError:
        lines.append(Line("…", "values that are nested too deeply"))
    return lines


def _compared(path: str, before: Any, after: Any) -> Iterator[Line]:
    if path in _IGNORED or before == after:
        return
    if isinstance(before, dict | None) and isinstance(after, dict | None) and (before or after):
        old, new = before or {}, after or {}
        for key in [*old, *(key for key in new if key not in old)]:
            yield from _compared(f"{path}.{key}".lstrip("."), old.get(key), new.get(key))
    elif _is_list(before) and _is_list(after) and (before or after):
        yield from _compared_lists(path, before or [], after or [])
    else:
        if before is not None:
            yield Line("-", f"{path}: {_shown(before)}")
        if after is not None:
            yield Line("+", f"{path}: {_shown(after)}")


def _is_list(value: Any) -> bool:
    return value is None or isinstance(value, list)


def _compared_lists(path: str, old: Sequence[Any], new: Sequence[Any]) -> Iterator[Line]:
    for index in range(max(len(old), len(new))):
        pair = (items[index] if index < len(items) else None for items in (old, new))
        yield from _compared(f"{path}[{index}]", *pair)


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= VALUE_MAX else f"{text[: VALUE_MAX - 1]}…"
