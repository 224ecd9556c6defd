"""Reads YAML with bounds: aliases do not multiply, nothing is nested too deep, no key comes twice.

The values are built from the parser's events, and not from PyYAML's tree of nodes, which needs
fifty times the memory of the text. The items of a list are handed out as soon as they are read.
"""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import yaml

from harness import errors
from harness.manifests import sources, yaml_values

DEPTH_MAX = 100
"""Collections inside collections; objects of the API have about twenty."""
ALIASED_MAX = 100_000
"""Values that come from aliases, in one document."""
_LIST = "List"
_MERGE = "<<"
_Base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_TAGS_OF_COLLECTIONS = (None, "!", f"{_TAG}map", f"{_TAG}seq")
Place = tuple[sources.Source, Any]


class _Problem(Exception):  # noqa: N818 - becomes a ManifestError, with the file's name
    """A mistake, with its line, counted from 0."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def read(path: str, content: bytes) -> Iterator[Place]:
    """Yield the place and the value of each document that is not empty, and of each item of a List.

    Raises ManifestError, with the line, if it is not YAML, or not YAML that JSON can say.
    """
    try:
        yield from _Reader(path).read(content)
    except _Problem as problem:
        where = f"{path}, line {problem.line + 1}"
        raise errors.ManifestError(f"{where}: {problem}") from problem
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{path}, line {mark.line + 1}" if mark else path
        raise errors.ManifestError(f"{where}: expected YAML; {_said(error, content)}") from error
    except (yaml.YAMLError, UnicodeError) as error:
        why = " ".join(str(error).split())
        raise errors.ManifestError(f"{path}: expected YAML or JSON; {why:.200}") from error


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


def _said(error: yaml.MarkedYAMLError, content: bytes) -> str:
    mark = error.problem_mark
    lines = content.splitlines()[mark.line : mark.line + 1] if mark else []
    indent = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else b""
    tab = " (the line begins with a tab: use spaces)" if b"\t" in indent else ""
    return f"{error.problem}{tab}"


@dataclasses.dataclass(slots=True)
class _Open:
    """A list or mapping that is not complete."""

    value: Any
    line: int
    anchor: str | None
    key: str | None = None
    """Of a mapping: the key whose value comes next."""
    own: set[str] = dataclasses.field(default_factory=set)
    """Of a mapping: its keys without those that are merged into it."""
    size: int = 1
    """Values in it, with those of aliases."""


class _Reader:
    """Reads the documents of one file."""

    def __init__(self, path: str) -> None:
        self._path, self._number = path, 0
        self._begin()

    def _begin(self) -> None:
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._aliased = 0
        self._items = 0
        self._untyped: list[Place] = []
        self._root: tuple[int, Any] = (0, None)

    def read(self, content: bytes) -> Iterator[Place]:
        """Yield the documents and items."""
        parser = _Base(content)
        try:
            while parser.check_event():
                event = parser.get_event()
                yield from self._see(event)
        finally:
            parser.dispose()

    def _see(self, event: Any) -> Iterator[Place]:
        line = event.start_mark.line
        match event:
            case yaml.ScalarEvent():
                yield from self._put(self._scalar(event, line), 1, line, event.anchor)
            case yaml.AliasEvent():
                value, size = self._repeated(event.anchor or "", line)
                yield from self._put(value, size, line, None)
            case yaml.CollectionStartEvent():
                self._start(event, line)
            case yaml.CollectionEndEvent():
                done = self._open.pop()
                yield from self._put(done.value, done.size, done.line, done.anchor)
            case yaml.DocumentStartEvent():
                self._number += 1
                self._begin()
            case yaml.DocumentEndEvent():
                yield from self._end()

    # ---------------------------------------------------------------------- values

    def _start(self, event: Any, line: int) -> None:
        if len(self._open) >= DEPTH_MAX:
            raise _Problem(line, f"expected at most {DEPTH_MAX} collections inside each other")
        if event.tag not in _TAGS_OF_COLLECTIONS:
            raise _Problem(line, f"expected no tag of YAML, got {event.tag!r:.60}")
        is_list = isinstance(event, yaml.SequenceStartEvent)
        self._open.append(_Open([] if is_list else {}, line, event.anchor))

    def _scalar(self, event: Any, line: int) -> Any:
        try:
            if event.implicit[0]:
                return yaml_values.plain(event.value)
            if event.implicit[1] or event.tag in ("!", f"{_TAG}str"):
                return event.value
            if event.tag in [f"{_TAG}{kind}" for kind in ("int", "float", "bool", "null")]:
                return yaml_values.plain(event.value)
        except ValueError as error:
            raise _Problem(line, str(error)) from error
        raise _Problem(line, f"expected no tag of YAML, got {event.tag!r:.60}")

    def _repeated(self, anchor: str, line: int) -> tuple[Any, int]:
        if anchor not in self._anchors:
            raise _Problem(line, f"expected an anchor before its alias *{anchor:.60}")
        value, size = self._anchors[anchor]
        self._aliased += size
        if self._aliased > ALIASED_MAX:
            raise _Problem(
                line, f"expected at most {ALIASED_MAX} values by aliases: write them out"
            )
        return value, size

    def _put(self, value: Any, size: int, line: int, anchor: str | None) -> Iterator[Place]:
        """Add a complete value to the collection around it."""
        if anchor:
            self._anchors[anchor] = value, size
        if not self._open:
            self._root = line, value
            return
        around = self._open[-1]
        around.size += size
        if isinstance(around.value, dict):
            self._put_in_mapping(around, value, line)
        elif self._is_items:
            yield from self._item(value, line)
        else:
            around.value.append(value)

    def _put_in_mapping(self, around: _Open, value: Any, line: int) -> None:
        if around.key is None:
            around.key = _key(value, line)
            if around.key in around.own:
                raise _Problem(line, f"expected each key once, got {around.key!r:.60} twice")
            around.own.add(around.key)
            return
        key, around.key = around.key, None
        if key == _MERGE:
            _merge(around, value, line)
        else:
            around.value[key] = value

    # ----------------------------------------------------------------------- items

    @property
    def _is_items(self) -> bool:
        """True if the innermost collection is `items` of the document."""
        return len(self._open) == 2 and self._open[0].key == "items"

    def _item(self, value: Any, line: int) -> Iterator[Place]:
        self._items += 1
        source = self._source(line, item=self._items)
        if isinstance(value, dict) and "kind" not in value:
            self._untyped.append((source, value))  # the kind of the list comes after its items
        else:
            yield source, value

    def _end(self) -> Iterator[Place]:
        line, root = self._root
        is_list = isinstance(root, dict) and isinstance(root.get("items"), list)
        if not is_list:
            if root is not None:
                yield self._source(line), root
            return
        kind, version = str(root.get("kind")), str(root.get("apiVersion"))
        require_list(self._source(line), kind)
        for source, value in self._untyped:
            yield source, typed(value, kind, version)

    def _source(self, line: int, *, item: int | None = None) -> sources.Source:
        return sources.Source(path=self._path, document=self._number, item=item, line=line + 1)


def _key(value: Any, line: int) -> str:
    """Return a key as JSON has it: `on: 1` is {"true": 1}."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict | list):
        raise _Problem(line, "expected text as a key, got a list or a mapping")
    return json.dumps(value)


def _merge(around: _Open, value: Any, line: int) -> None:
    for part in value if isinstance(value, list) else [value]:
        if not isinstance(part, dict):
            raise _Problem(line, "expected a mapping to merge (<<)")
        for key, item in part.items():
            around.value.setdefault(key, item)
