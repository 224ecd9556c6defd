"""Values of decoded responses: read them at a path, insert them into requests, merge documents.

A path is like `metadata.labels[example.com/a]` or `items.0.metadata.name`: keys and indexes
separated by dots, with keys that contain dots in brackets.
"""

import copy
import re
from collections.abc import Mapping
from typing import Any

ABSENT = object()
_PART = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_REFERENCE = re.compile(r"\{([a-z]\w*)((?:\.[^.{}\[\]]+|\[[^\]{}]*\])*)\}")


def at(value: Any, path: str) -> Any:
    """Return the value at a path, ABSENT if there is none."""
    for bracketed, plain in _PART.findall(path):
        key = bracketed or plain
        if isinstance(value, dict):
            value = value.get(key, ABSENT)
        elif isinstance(value, list):
            value = value[int(key)] if key.isdigit() and int(key) < len(value) else ABSENT
        else:
            return ABSENT
    return value


def fill(value: Any, known: Mapping[str, Any]) -> Any:
    """Return a value with its references (`{first.metadata.uid}`) replaced by known values.

    A text that is a single reference becomes the value itself, which need not be a text. Raises
    KeyError if a known value has nothing at the path.
    """
    if isinstance(value, str):
        return _fill_text(value, known)
    if isinstance(value, list):
        return [item for part in value for item in _fill_items(part, known)]
    if isinstance(value, dict):
        return {fill(key, known): fill(item, known) for key, item in value.items()}
    return value


def _fill_items(part: Any, known: Mapping[str, Any]) -> list[Any]:
    """Expand `{times: N, of: item}` in a list to N items, in which `{i}` is the index."""
    if isinstance(part, dict) and part.keys() == {"times", "of"}:
        return [fill(part["of"], {**known, "i": str(i)}) for i in range(part["times"])]
    return [fill(part, known)]


def _fill_text(text: str, known: Mapping[str, Any]) -> Any:
    whole = _REFERENCE.fullmatch(text)
    if whole and whole[1] in known:
        return copy.deepcopy(_look_up(whole, known))

    def replacement(match: re.Match[str]) -> str:
        return str(_look_up(match, known)) if match[1] in known else match[0]

    return _REFERENCE.sub(replacement, text)


def _look_up(match: re.Match[str], known: Mapping[str, Any]) -> Any:
    value = at(known[match[1]], match[2])
    if value is ABSENT:
        raise KeyError(match[0])
    return value


def merge(base: Any, patch: Any) -> Any:
    """Apply a JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result
