"""The documents of a file, YAML or JSON, as kubectl reads them; with bounds.

Values are those that JSON has: a date stays text, and so does a number in sixties (1:59). A list in
JSON needs the memory of its text only: its items are decoded one after another.
"""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import yaml

from harness import errors, regular_files
from harness.manifests import sources

JSON_BYTES_MAX = 512 * 2**20
"""Largest file of JSON; 10,000 slices of eight devices have about 60 MB."""
YAML_BYTES_MAX = 16 * 2**20
"""Largest file of YAML: its tree needs fifty times the memory of the text."""
ALIASED_MAX = 100_000
"""Values that come from aliases, in one document."""
_BOM = b"\xef\xbb\xbf"


class _Envelope(msgspec.Struct):
    """An object of JSON; of a list the items as text."""

    kind: Any = None
    api_version: Any = msgspec.field(name="apiVersion", default=None)
    items: list[msgspec.Raw] | None = None


def read(path: str) -> Iterator[tuple[sources.Source, Any]]:
    """Yield the place and the value of each document; the items of a list in JSON are Raw.

    Raises ManifestError if the file cannot be read, is too large, or is neither YAML nor JSON.
    """
    try:
        content = regular_files.content(path).removeprefix(_BOM)
    except OSError as error:
        raise errors.ManifestError(
            f"{path}: expected a readable file of objects in YAML or JSON ({error.strerror})"
        ) from error
    if len(content) > JSON_BYTES_MAX:
        limit = JSON_BYTES_MAX >> 20
        raise errors.ManifestError(f"{path}: expected a file of at most {limit} MiB: divide it")
    envelope = _envelope(content)
    if envelope is None:
        yield from _of_yaml(path, content)
    else:
        kind, version, items = envelope.kind, envelope.api_version, envelope.items
        listed = {"kind": kind, "apiVersion": version, "items": items}
        source = sources.Source(path=path)
        yield source, of_json(source, content) if items is None else listed


def _envelope(content: bytes) -> _Envelope | None:
    if not content.lstrip().startswith(b"{"):
        return None
    try:
        return msgspec.json.decode(content, type=_Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def of_json(source: sources.Source, text: bytes) -> Any:
    """Return the value of JSON. Raises ManifestError if a key is there twice."""
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise errors.ManifestError(f"{source}: expected JSON; {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"expected each key once, got {twice!r} twice")
    return found


# ----------------------------------------------------------------------------------- YAML


class _Problem(yaml.MarkedYAMLError):
    """A value that JSON cannot say, or too much of it."""

    def __init__(self, node: yaml.Node, text: str) -> None:
        super().__init__(problem=text, problem_mark=node.start_mark)


_TAG = "tag:yaml.org,2002:"
_Base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_KEPT = {f"{_TAG}{name}" for name in ("str", "bool", "null", "merge", "seq", "int", "float")}
_NUMBERS = {
    "int": r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|0|[1-9][0-9_]{0,39})$",
    "float": r"[-+]?(?:\.[0-9]{1,40}|[0-9][0-9_]{0,39}(?:\.[0-9_]{0,40})?)(?:[eE][-+]?[0-9]{1,2})?$",
}
"""Numbers of JSON; those in sixties are none."""


class _Loader(_Base):  # type: ignore[misc]
    """Builds what JSON has: dates stay text, and other tags are refused."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML copies it
        first: [
            (tag, form)
            for tag, form in found
            if tag in _KEPT and not tag.endswith(("int", "float"))
        ]
        for first, found in _Base.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {
        tag: build for tag, build in _Base.yaml_constructors.items() if tag in _KEPT
    } | {f"{_TAG}merge": _Base.construct_scalar}

    def number(self, node: yaml.ScalarNode) -> int | float:
        """Return a number; one without a fraction is whole, as in the JSON that kubectl sends."""
        value = float(node.value.replace("_", ""))
        return int(value) if value.is_integer() and abs(value) < 2**53 else value

    def mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        """Return a mapping with keys as JSON has them: `on: 1` is {"true": 1}."""
        keys = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _Problem(key, "expected text as a key, got a list or a mapping")
            if (name := self._key(key)) in keys:
                raise _Problem(key, f"expected each key once, got {name!r:.60} twice")
            keys.add(name)
        self.flatten_mapping(node)
        return {
            self._key(key): self.construct_object(value, deep=True) for key, value in node.value
        }

    def _key(self, node: yaml.Node) -> str:
        key = self.construct_object(node)
        return key if isinstance(key, str) else json.dumps(key)

    def refuse(self, node: yaml.Node) -> None:
        raise _Problem(node, f"expected no tag of YAML, got {node.tag!r:.60}")


for _name, _form in _NUMBERS.items():
    _Loader.add_implicit_resolver(f"{_TAG}{_name}", re.compile(_form), list("-+.0123456789"))
_Loader.add_constructor(f"{_TAG}float", _Loader.number)
_Loader.add_constructor(f"{_TAG}map", _Loader.mapping)
_Loader.add_constructor(None, _Loader.refuse)


def _of_yaml(path: str, content: bytes) -> Iterator[tuple[sources.Source, Any]]:
    """Raise ManifestError, with the line, if it is not YAML, or not YAML that JSON can say."""
    if len(content) > YAML_BYTES_MAX:
        raise errors.ManifestError(
            f"{path}: expected at most {YAML_BYTES_MAX >> 20} MiB of YAML: divide it, or write "
            "JSON (kubectl get -o json)"
        )
    loader = None
    try:
        loader = _Loader(content)
        for number in itertools.count(1):
            if not loader.check_node():
                return
            node = loader.get_node()
            if _count(node, {}) > len(content) + ALIASED_MAX:
                raise _Problem(
                    node, f"expected at most {ALIASED_MAX} values by aliases: write them out"
                )
            value = loader.construct_document(node)
            if value is not None:
                line = node.start_mark.line + 1
                yield sources.Source(path=path, document=number, line=line), value
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}, line {mark.line + 1}" if mark else path
        what = "" if isinstance(error, _Problem) else "expected YAML; "
        raise errors.ManifestError(f"{where}: {what}{error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        why = " ".join(str(error).split())
        raise errors.ManifestError(f"{path}: expected YAML or JSON; {why:.200}") from error
    finally:
        if loader:
            loader.dispose()


def _count(node: yaml.Node, known: dict[int, int]) -> int:
    """Return the number of values in a node; those of an alias count each time."""
    if isinstance(node, yaml.ScalarNode):
        return 1
    if id(node) not in known:
        is_mapping = isinstance(node, yaml.MappingNode)
        parts = [part for pair in node.value for part in pair] if is_mapping else node.value
        known[id(node)] = 1 + sum(_count(part, known) for part in parts)
    return known[id(node)]
