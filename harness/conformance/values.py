"""Values of decoded answers: reading them at a path, putting them into requests, changing documents with them.

A path is `metadata.labels[example.com/a]` or `items.0.metadata.name`: keys and positions with dots between them, keys that have dots
themselves in brackets.
"""

import copy
import re
from collections.abc import Mapping
from typing import Any

ABSENT = object()
_PART = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")
_REFERENCE = re.compile(r"\{([a-z]\w*)((?:\.[^.{}\[\]]+|\[[^\]{}]*\])*)\}")


def at(value: Any, path: str) -> Any:
    """What is at a path; ABSENT where nothing is."""
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
    """The value with its references replaced by what they refer to; a text that is one reference becomes the thing itself."""
    if isinstance(value, str):
        return _fill_text(value, known)
    if isinstance(value, list):
        return [item for part in value for item in _fill_items(part, known)]
    if isinstance(value, dict):
        return {fill(key, known): fill(item, known) for key, item in value.items()}
    return value


def _fill_items(part: Any, known: Mapping[str, Any]) -> list[Any]:
    """{times: N, of: item} in a list stands for N items, `{i}` being the position."""
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
    """JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return patch
    result = dict(base) if isinstance(base, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result
