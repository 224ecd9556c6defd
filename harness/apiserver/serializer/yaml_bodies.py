"""Decode YAML bodies, with stricter limits than JSON: Python needs far longer to construct YAML.

Client libraries send JSON, even as `application/apply-patch+yaml`; YAML is written by hand. The
limits are checked on the parser's events, before any value is constructed; an alias counts as many
values as it expands to.
"""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import yaml

from harness.apiserver.codec import json_codec
from harness.apiserver.errors import status_errors

BODY_BYTES_MAX = 1024 * 1024
VALUES_MAX = 10_000
"""Maximum number of keys and values, which take about 50 ms.

A ResourceSlice with 128 devices of ten attributes each has about 8,000.
"""
DEPTH_MAX = 200
"""Maximum depth of nested collections."""
DIRECTIVES_MAX = 100
"""Maximum number of `%TAG` directives: the parser compares each with all previous ones."""
MESSAGE_CHARACTERS_MAX = 500
"""Length to which a parser's error message is cut."""
NUMBER_CHARACTERS_MAX = 40
"""Maximum length of a number: sexagesimal ones (1:59:59:59…) take quadratic time."""
_Base: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Loader(_Base):  # type: ignore[misc]
    """A safe loader that keeps timestamps as strings, as in JSON, and limits numbers."""

    def construct_yaml_int(self, node: Any) -> Any:
        """Return an integer. Raises ValueError if it is too long."""
        _require_short(node)
        return super().construct_yaml_int(node)

    def construct_yaml_float(self, node: Any) -> Any:
        """Return a float. Raises ValueError if it is too long."""
        _require_short(node)
        return super().construct_yaml_float(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)
_Loader.yaml_implicit_resolvers = {
    first: [
        # Possessive: PyYAML's own patterns need memory for each part of a number like 1:59:59:59.
        (tag, re.compile(pattern.pattern.replace(")+", ")++"), pattern.flags))
        for tag, pattern in resolvers
        if not tag.endswith(":timestamp")
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(body: bytes) -> Any:
    """Return a YAML document as JSON values. Raises 400 if malformed, 413 if too large."""
    if len(body) > BODY_BYTES_MAX:
        raise status_errors.too_large(BODY_BYTES_MAX)
    with _plain_errors():
        _require_bounds(body)
        document = _with_text_keys(yaml.load(body, Loader=_Loader))  # noqa: S506 - a safe loader
        json_codec.encode(document)  # rejects lone surrogates
    return document


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except RecursionError as error:
        raise _unreadable("exceeded max depth") from error
    except yaml.MarkedYAMLError as error:
        raise _unreadable(f"yaml: {_place(error)}{error.problem}") from error
    except UnicodeEncodeError as error:
        raise _unreadable("yaml: found invalid Unicode character escape code") from error
    except (yaml.YAMLError, ArithmeticError, ValueError, TypeError) as error:
        raise _unreadable(" ".join(str(error).split())) from error


def _unreadable(why: str) -> status_errors.StatusError:
    what = f"error converting YAML to JSON: {why[:MESSAGE_CHARACTERS_MAX]}"
    return status_errors.bad_request(what)


def _place(error: yaml.MarkedYAMLError) -> str:
    """Return the position for an error message as Go's decoder counts lines.

    Scanner errors are one line further down; line 0 is omitted.
    """
    marks = [mark for mark in (error.context_mark, error.problem_mark) if mark and mark.line]
    line = (marks[0].line if marks else 0) + isinstance(error, yaml.scanner.ScannerError)
    return f"line {line}: " if line else ""


def _require_short(node: Any) -> None:
    if len(node.value) > NUMBER_CHARACTERS_MAX:
        raise ValueError(f"yaml: a number has more than {NUMBER_CHARACTERS_MAX} characters")


def _with_text_keys(value: Any) -> Any:
    """Return a copy with all keys as strings, as JSON requires: `on: 1` becomes {"true": 1}.

    Values of aliases are copied.
    """
    if isinstance(value, list):
        return [_with_text_keys(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key if isinstance(key, str) else json_codec.encode(key).decode(): _with_text_keys(item)
        for key, item in value.items()
    }


# ------------------------------------------------------------------ limits


def _require_bounds(body: bytes) -> None:
    if body.replace(b"\0", b"").count(b"%TAG") > DIRECTIVES_MAX:  # also in UTF-16
        raise ValueError(f"yaml: document has more than {DIRECTIVES_MAX} directives")
    count = _Count()
    for event in yaml.parse(body, Loader=_Loader):
        match event:
            case yaml.AliasEvent():
                count.repeat(event.anchor or "")
            case yaml.ScalarEvent():
                count.add(event.anchor)
            case yaml.CollectionStartEvent():
                count.open(event.anchor)
            case yaml.CollectionEndEvent():
                count.close()


class _Count:
    """Counts the values of a document from its events, with and without expanding aliases."""

    def __init__(self) -> None:
        self._values = self._written = 0
        self._anchored: dict[str, int] = {}
        """Number of values by anchor."""
        self._open: list[tuple[str | None, int]] = []
        """Anchor of each open collection, None without one, and the count at its start."""

    def add(self, anchor: str | None) -> None:
        """Count one written value. Raises 413 if there are too many."""
        self._written += 1
        if self._written > VALUES_MAX:
            why = f"a YAML body may have at most {VALUES_MAX} keys and values; send it as JSON"
            message = f"Request entity too large: {why}"
            raise status_errors.StatusError(413, "RequestEntityTooLarge", message)
        self._grow(1)
        if anchor:
            self._anchored[anchor] = 1

    def open(self, anchor: str | None) -> None:
        """Count the start of a collection. Raises ValueError if it is nested too deep."""
        self._open.append((anchor, self._values))
        if len(self._open) > DEPTH_MAX:
            raise ValueError("exceeded max depth")
        self.add(None)

    def close(self) -> None:
        """End the innermost collection, and store the number of values of its anchor."""
        anchor, before = self._open.pop()
        if anchor:
            self._anchored[anchor] = self._values - before

    def repeat(self, anchor: str) -> None:
        """Count the values of an alias. Raises ValueError if it refers to an open collection."""
        if any(anchor == name for name, _ in self._open):
            raise ValueError(f"yaml: anchor '{anchor}' value contains itself")
        self._grow(self._anchored.get(anchor, 1))

    def _grow(self, count: int) -> None:
        self._values += count
        if self._values > VALUES_MAX:
            raise ValueError("yaml: document contains excessive aliasing")
