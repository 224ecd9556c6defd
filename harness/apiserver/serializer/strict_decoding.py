"""Find and describe the problems of a body, in the words of Go's JSON decoders.

This walk is slower than that of `decoding`, which therefore comes first.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from harness.apiserver.scheme import api_types
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import decoding, json_bodies

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


def normalize(
    kind: api_types.Type, raw: Document, body: bytes, *, with_problems: bool
) -> tuple[Document | str, list[str]]:
    """Return the normalized document, or an error message if it is not of the type.

    Its problems are returned as well if `with_problems` is set.
    """
    tally = decoding.Tally()
    try:
        document: Document = decoding.read(kind, raw, tally)
    except decoding.MismatchError:
        return mismatch(kind, raw), []
    is_clean = not tally.unknown and has_unique_keys(body, tally.keys)
    if is_clean or not with_problems:
        return document, []
    reparsed = json_bodies.parse(body)
    return decoding.read(kind, reparsed, tally), problems(kind, reparsed)


def has_unique_keys(body: bytes, keys: int) -> bool:
    """Return True only if no object in a body repeats a key; `keys` is the number of decoded keys.

    A colon follows every key in the text, so the text has at most as many keys as colons; without
    white space, at most as many as colons after a quote. Strings may contain more of both, in
    which case False is returned although no key is repeated.
    """
    if body.count(b":") == keys:
        return True
    return body.translate(None, b" \t\r\n").count(b'":') == keys


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
        yield (
            str(error)
            or f"json: cannot unmarshal {what} into {where} of type {kind.format or kind.kind}"
        )


def _short(name: str) -> str:
    return name.rpartition(".")[2]
