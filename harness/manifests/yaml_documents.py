"""Reads YAML as kubectl does, with bounds: aliases do not multiply, nothing is nested too deep."""

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from harness import errors
from harness.manifests import sources, yaml_values

BYTES_MAX = 16 * 2**20
"""Largest file of YAML: its tree needs fifty times the memory of the text."""
DEPTH_MAX = 100
"""Collections inside collections; objects of the API have about twenty."""
ALIASED_MAX = 100_000
"""Values that come from aliases, in one document."""
_LIST = "List"
_PLAIN, _TAG = "!plain", "tag:yaml.org,2002:"
_Base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Place = tuple[sources.Source, Any]


class _Problem(yaml.MarkedYAMLError):
    """A value that JSON cannot say, or too much of it."""

    def __init__(self, node: yaml.Node, text: str) -> None:
        super().__init__(problem=text, problem_mark=node.start_mark)


class _Loader(_Base):  # type: ignore[misc]
    """Builds what JSON has: dates stay text, and other tags are refused."""

    yaml_implicit_resolvers: dict[str | None, Any] = {}  # noqa: RUF012 - PyYAML copies it
    yaml_constructors: dict[str | None, Any] = {}  # noqa: RUF012

    def plain(self, node: yaml.ScalarNode) -> yaml_values.Scalar:
        try:
            return yaml_values.plain(node.value)
        except ValueError as error:
            raise _Problem(node, str(error)) from error

    def mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        """Return a mapping with keys as JSON has them: `on: 1` is {"true": 1}."""
        keys = set()
        for key, _ in node.value:
            name = self._key(key)
            if name in keys:
                raise _Problem(key, f"expected each key once, got {name!r:.60} twice")
            keys.add(name)
        self.flatten_mapping(node)
        return {
            self._key(key): self.construct_object(value, deep=True) for key, value in node.value
        }

    def _key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise _Problem(node, "expected text as a key, got a list or a mapping")
        key = self.construct_object(node)
        return key if isinstance(key, str) else json.dumps(key)

    def refuse(self, node: yaml.Node) -> None:
        raise _Problem(node, f"expected no tag of YAML, got {node.tag!r:.60}")


_Loader.add_implicit_resolver(f"{_TAG}merge", re.compile("<<$"), ["<"])
_Loader.add_implicit_resolver(_PLAIN, re.compile(""), None)
for _name in ("int", "float", "bool", "null"):
    _Loader.add_constructor(f"{_TAG}{_name}", _Loader.plain)
_Loader.add_constructor(_PLAIN, _Loader.plain)
for _name in ("str", "merge"):
    _Loader.add_constructor(f"{_TAG}{_name}", _Base.construct_scalar)
_Loader.add_constructor(f"{_TAG}seq", _Base.construct_yaml_seq)
_Loader.add_constructor(f"{_TAG}map", _Loader.mapping)
_Loader.add_constructor(None, _Loader.refuse)


def read(path: str, content: bytes) -> Iterator[Place]:
    """Yield the place and the value of each document that is not empty, and of each item of a List.

    Raises ManifestError, with the line, if it is not YAML, or not YAML that JSON can say.
    """
    if len(content) > BYTES_MAX:
        raise errors.ManifestError(
            f"{path}: expected at most {BYTES_MAX >> 20} MiB of YAML: divide it, or write JSON "
            "(kubectl get -o json)"
        )
    try:
        yield from _documents(path, content)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}, line {mark.line + 1}" if mark else path
        raise errors.ManifestError(f"{where}: {_said(error, content)}") from error
    except (yaml.YAMLError, UnicodeError, RecursionError) as error:
        why = " ".join(str(error).split())
        raise errors.ManifestError(f"{path}: expected YAML or JSON; {why:.200}") from error


def _documents(path: str, content: bytes) -> Iterator[Place]:
    loader, number = _Loader(content), 0
    try:
        while loader.check_node():
            node, number = loader.get_node(), number + 1
            _require_bounded(node)
            value = loader.construct_document(node)
            if value is not None:
                yield from _places(path, number, node, value)
    finally:
        loader.dispose()


def _places(path: str, number: int, node: Any, value: Any) -> Iterator[Place]:
    """Yield a document, or the items of one that is a list of objects."""

    def source(part: yaml.Node, item: int | None = None) -> sources.Source:
        line = part.start_mark.line + 1
        return sources.Source(path=path, document=number, item=item, line=line)

    if not isinstance(value, dict) or not isinstance(value.get("items"), list):
        yield source(node), value
        return
    kind, version = str(value.get("kind")), str(value.get("apiVersion"))
    require_list(source(node), kind)
    nodes = next(part.value for key, part in node.value if key.value == "items")
    for index, (part, item) in enumerate(zip(nodes, value["items"], strict=True), start=1):
        yield source(part, index), typed(item, kind, version)


def require_list(source: sources.Source, kind: str) -> None:
    """Raise ManifestError for an object with `items` that is no list of objects."""
    if not kind.endswith(_LIST):
        raise errors.ManifestError(
            f"{source}: expected a List of objects, as it has items, got the kind {kind!r:.60}"
        )


def typed(value: Any, kind: str, version: str) -> Any:
    """Return an item of a typed list (`ResourceSliceList`) with kind and version; it has none."""
    if not isinstance(value, dict) or "kind" in value or kind == _LIST:
        return value
    return {"apiVersion": version, "kind": kind.removesuffix(_LIST), **value}


def _require_bounded(root: yaml.Node) -> None:
    """Raise _Problem for a document that is nested too deep, or that aliases make too large."""
    sizes: dict[int, int] = {}
    aliased = 0

    def size(node: yaml.Node, depth: int) -> int:
        nonlocal aliased
        if depth > DEPTH_MAX:
            raise _Problem(node, f"expected at most {DEPTH_MAX} collections inside each other")
        if id(node) not in sizes:
            sizes[id(node)] = 0  # until it is complete
            sizes[id(node)] = 1 + sum(size(part, depth + 1) for part in _parts(node))
            return sizes[id(node)]
        aliased += sizes[id(node)]
        if not sizes[id(node)]:
            raise _Problem(node, "expected no collection inside itself, got an alias of it there")
        if aliased > ALIASED_MAX:
            raise _Problem(
                node, f"expected at most {ALIASED_MAX} values by aliases: write them out"
            )
        return sizes[id(node)]

    size(root, 0)


def _parts(node: yaml.Node) -> Iterable[yaml.Node]:
    match node:
        case yaml.MappingNode():
            return list(itertools.chain.from_iterable(node.value))
        case yaml.SequenceNode():
            return list(node.value)
    return ()


def _said(error: yaml.MarkedYAMLError, content: bytes) -> str:
    if isinstance(error, _Problem):
        return str(error.problem)
    mark = error.problem_mark
    lines = content.splitlines()[mark.line : mark.line + 1] if mark else []
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else b""
    tab = " (the line begins with a tab: use spaces)" if b"\t" in indent else ""
    return f"expected YAML; {error.problem}{tab}"
