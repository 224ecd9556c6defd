"""Find and describe the problems of a body, in the words of Go's JSON decoders.

This walk is slower than that of `decoding`, which therefore comes first.
"""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

from harness.apiserver.scheme import api_types
from harness.apiserver.serializer import decoding

PROBLEMS_MAX = 100
"""Number of problems after which the search ends."""
JSON_NAMES = {
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    dict: "object",
    list: "array",
}
_GO_NAMES: dict[api_types.Kind, str] = {
    "string": "string",
    "boolean": "bool",
    "number": "float64",
    "bytes": "[]uint8",
    "any": "runtime.RawExtension",
    "quantity": "resource.Quantity",
    "int_or_string": "intstr.IntOrString",
    "time": "string",
    "micro_time": "string",
}


class Repeating(dict[str, Any]):
    """A JSON object that repeats keys."""

    repeated: tuple[str, ...] = ()
    """The repeated keys, once for each repetition."""


def parse(text: bytes) -> Any:
    """Return JSON as Go decodes it.

    The last value of a repeated key wins, but objects are merged. Lone surrogates become U+FFFD.
    """
    whole = text.decode(errors="replace")
    if "\\u" in whole:
        whole = _SURROGATES.sub(_replace_lone, whole)
    return json.loads(whole, object_pairs_hook=_object)


def problems(kind: api_types.Type, document: Any) -> list[str]:
    """Return the unknown and duplicate fields of a parsed document, at most PROBLEMS_MAX."""
    return list(itertools.islice(_walk(kind, document, ""), PROBLEMS_MAX))


def duplicates(document: Any) -> list[str]:
    """Return the duplicate fields of a parsed document of any type."""
    return list(_walk(_ANY, document, ""))


def mismatch(kind: api_types.Type, document: Any) -> str:
    """Return Go's message for the first value that does not fit its type, "" if all fit."""
    return next(_mismatches(kind, document, "", ""), "")


# ------------------------------------------------------------------ strict

_ANY = api_types.Type(kind="any")


def _walk(kind: api_types.Type, value: Any, at: str) -> Iterator[str]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(kind.item or _ANY, item, f"{at}[{index}]")
    elif isinstance(value, dict):
        yield from _walk_fields(kind, value, f"{at}." if at else "")


def _walk_fields(kind: api_types.Type, value: dict[str, Any], prefix: str) -> Iterator[str]:
    for name in getattr(value, "repeated", ()):
        yield f'duplicate field "{prefix}{name}"'
    for name, child in value.items():
        field = kind.fields.get(name)
        if field is not None:
            yield from _walk(field.type, child, prefix + name)
        elif kind.kind == "object":
            yield f'unknown field "{prefix}{name}"'
        else:
            yield from _walk(kind.item or _ANY, child, prefix + name)


# ------------------------------------------------------------------ types


def _mismatches(kind: api_types.Type, value: Any, owner: str, path: str) -> Iterator[str]:
    if value is None:
        return
    if kind.kind == "object" and isinstance(value, dict):
        for name, child in value.items():
            if field := kind.fields.get(name):
                inner = f"{path}.{name}" if path else name
                yield from _mismatches(field.type, child, _short(kind.name), inner)
    elif kind.item is not None and isinstance(value, dict if kind.kind == "map" else list):
        for child in value.values() if isinstance(value, dict) else value:
            yield from _mismatches(kind.item, child, owner, path)
    else:
        yield from _misfit(kind, value, f"{owner}.{path}")


def _misfit(kind: api_types.Type, value: Any, field: str) -> Iterator[str]:
    try:
        decoding.read(kind, value, decoding.Tally())
    except decoding.MismatchError as error:
        where = f"Go struct field {field}" if field != "." else "Go value"
        what = JSON_NAMES[type(value)]
        if what == "number" and kind.kind == "integer":
            what = f"number {value}"
        yield str(error) or f"json: cannot unmarshal {what} into {where} of type {_go_name(kind)}"


def _go_name(kind: api_types.Type) -> str:
    if kind.kind == "integer":
        return kind.format or "int64"
    if kind.kind == "object":
        version, name = kind.name.split(".")[-2:]
        return f"{version}.{name}"
    if kind.item is not None:
        return ("map[string]" if kind.kind == "map" else "[]") + _go_name(kind.item)
    return _GO_NAMES[kind.kind]


def _short(name: str) -> str:
    return name.rpartition(".")[2]


# ------------------------------------------------------------------ parsing


_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATES = re.compile(rf"(?:\\\\)++|((?:{_HIGH}{_LOW})++)|(?:{_HIGH}(?!{_LOW})|{_LOW})++")
"""Runs of escaped backslashes, of surrogate pairs (group 1), and of lone surrogates."""
_SURROGATE_CHARACTERS = 6
"""Length of one escaped surrogate, such as `\\ud83d`."""


def _replace_lone(match: re.Match[str]) -> str:
    run = match[0]
    if match[1] or run.endswith("\\"):
        return run
    return "\\ufffd" * (len(run) // _SURROGATE_CHARACTERS)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    plain = dict(pairs)
    if len(plain) == len(pairs):
        return plain
    merged = Repeating()
    repeated = []
    for name, value in pairs:
        before = merged.get(name)
        if name in merged:
            repeated.append(name)
        both = isinstance(before, dict) and isinstance(value, dict)
        merged[name] = {**before, **value} if both else value  # type: ignore[dict-item]
    merged.repeated = tuple(repeated)
    return merged
