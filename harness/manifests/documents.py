"""The objects of a file, one after another: of its documents, and of the `items` of a List.

A long list in JSON needs the memory of its text only: its items are handed out one after another.
"""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from harness import errors, regular_files
from harness.manifests import sources, yaml_documents

FILE_BYTES_MAX = 512 * 1024 * 1024
"""Largest file of JSON; 10,000 slices of eight devices have about 60 MB."""


class _Envelope(msgspec.Struct, rename="camel"):
    """An object of JSON; of a list the items as text."""

    kind: Any = None
    api_version: Any = None
    items: list[msgspec.Raw] | None = None


def read(path: str, content: bytes | None = None) -> Iterator[tuple[sources.Source, Any]]:
    """Yield the place and the value of each document, and of each item instead of its list.

    Empty documents are left out. `content` None: it is read from the file. Raises ManifestError if
    the file cannot be read, is too large, or is neither YAML nor JSON.
    """
    content = _content(path) if content is None else content
    if len(content) > FILE_BYTES_MAX:
        limit = FILE_BYTES_MAX // 2**20
        raise errors.ManifestError(f"{path}: expected a file of at most {limit} MiB: divide it")
    envelope = _envelope(content)
    if envelope is None and _are_several(content):
        yield from _several(path, content)
    elif envelope is None:
        yield from yaml_documents.read(path, content)
    elif envelope.items is None:
        yield sources.Source(path=path), _value(path, content)
    else:
        yield from _items(path, envelope, envelope.items)


def _content(path: str) -> bytes:
    try:
        return regular_files.content(path)
    except OSError as error:
        raise errors.ManifestError(
            f"{path}: expected a readable file of objects in YAML or JSON ({error.strerror})"
        ) from error


def _envelope(content: bytes) -> _Envelope | None:
    """Return what a file of JSON has; None for YAML, and for what only a reader of YAML reads."""
    content = content.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not content.startswith(b"{"):
        return None
    try:
        return msgspec.json.decode(content, type=_Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _are_several(content: bytes) -> bool:
    """Return whether a file begins with an object of JSON after which another one begins."""
    try:
        text = content.decode("utf-8-sig").lstrip()
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return text[end:].lstrip().startswith("{")


def _several(path: str, content: bytes) -> Iterator[tuple[sources.Source, Any]]:
    """Yield objects of JSON that stand one after another, which kubectl reads as well."""
    decoder = json.JSONDecoder(object_pairs_hook=_once)
    text, at, number = content.decode("utf-8-sig").strip(), 0, 0
    while at < len(text):
        number += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise errors.ManifestError(
                f"{path}, document {number}: expected JSON; {error}"
            ) from error
        yield sources.Source(path=path, document=number), value
        while text[at : at + 1].isspace():
            at += 1


def _items(
    path: str, envelope: _Envelope, items: list[msgspec.Raw]
) -> Iterator[tuple[sources.Source, Any]]:
    kind, version = str(envelope.kind), str(envelope.api_version)
    yaml_documents.require_list(sources.Source(path=path), kind)
    for number, text in enumerate(items, start=1):
        value = _value(path, bytes(text))
        yield sources.Source(path=path, item=number), yaml_documents.typed(value, kind, version)


def _value(path: str, text: bytes) -> Any:
    """Return the value of JSON that was looked through already."""
    text = text.removeprefix(b"\xef\xbb\xbf")
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise errors.ManifestError(f"{path}: expected JSON; {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"expected each key once, got {twice!r} twice")
    return found
