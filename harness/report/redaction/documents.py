"""Replaces names in documents of JSON, by a table of what happens under which key."""

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

Rules = dict[tuple[str, type], Callable[[Any], Any]]
"""Key and type of its value -> what is done with it."""
LITERAL = re.compile(r"//[^\n]*|'([^'\\\n]*)'|\"([^\"\\\n]*)\"")
"""A quoted text in CEL, or a comment."""


def under(key: str, rule: Callable[[Any], Any]) -> Rules:
    return {(key, kind): rule for kind in (dict, list, str, int, float)}


class Documents:
    """Replaces values in documents. Imports and packs have rules of their own."""

    rules: Rules

    def of(self, value: Any, key: str = "") -> Any:
        """Return a value without names; `key`: that under which it stands, also in a list."""
        rule = self.rules.get((key, type(value)))
        return self.within(value, key) if rule is None else rule(value)

    def within(self, value: Any, key: str = "") -> Any:
        """Return a value for which there is no rule, or whose rule is about a part of it."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.of(item, "" if isinstance(item, dict) else key) for item in value]
            case dict():
                return {self.key(name, key): self.of(item, name) for name, item in value.items()}
        return value

    def text(self, text: str) -> str:
        return text

    def key(self, name: str, parent: str) -> str:
        """Return a key of a table; `parent`: the key under which the table stands."""
        del parent
        return name

    def expression(self, text: str) -> str:
        return LITERAL.sub(self._literal, text)

    def _literal(self, found: re.Match[str]) -> str:
        text = found[0]
        if text.startswith("//"):
            return self.comment(text)
        return f"{text[0]}{self.quoted(text[1:-1])}{text[-1]}"

    def comment(self, text: str) -> str:
        return self.text(text)

    def quoted(self, text: str) -> str:
        return self.text(text)


def named(
    references: Mapping[str, str],
    items: Mapping[str, str],
    *,
    name: Callable[[str, str], str],
    each: Callable[[str, list[Any]], Any],
) -> Rules:
    """Return the rules for keys of names and of lists; `name`, `each` get their kind and value."""
    rules: Rules = {(key, str): functools.partial(name, kind) for key, kind in references.items()}
    return rules | {(key, list): functools.partial(each, kind) for key, kind in items.items()}
