"""The documented rules of a DRA driver, as `rules.yaml` has them."""

import enum
import fnmatch
import functools
import importlib.resources
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import yaml

from harness import errors, suggestions

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Level(enum.StrEnum):
    """How much weight a rule has."""

    MUST = "must"
    """Pods fail where it is broken: the verdict is INVALID."""
    SHOULD = "should"
    """The documentation recommends it; it is reported, and has no say in the verdict."""
    NOTE = "note"
    """Worth knowing, but not documented as a rule."""

    def counts(self, least: "Level") -> bool:
        levels = list(Level)
        return levels.index(self) <= levels.index(least)


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One documented behaviour."""

    id: str
    """`group/name`."""
    level: Level
    says: str
    """A sentence that is true if the rule holds."""
    fails: str = ""
    """The consequence for users if it does not hold."""
    sources: tuple[str, ...]
    """Documents, proposals, files of upstream's source and issues that say so."""

    @property
    def group(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]


@functools.cache
def all_rules() -> Sequence[Rule]:
    """Return all rules, in the order in which they are checked."""
    text = importlib.resources.files(__package__).joinpath("rules.yaml").read_text("utf-8")
    groups = yaml.load(text, Loader=_Loader)  # noqa: S506
    return tuple(
        msgspec.convert({"id": f"{group}/{name}", **entry}, Rule)
        for group, entries in groups.items()
        for name, entry in entries.items()
    )


def chosen(patterns: Iterable[str]) -> list[Rule]:
    """Return the rules that one of the patterns names: ids, groups, or with `*`; none: all.

    Raises UsageError for a pattern that names none.
    """
    every, wanted = all_rules(), list(patterns)
    for pattern in wanted:
        if not any(_is_named(rule, pattern) for rule in every):
            known = [*dict.fromkeys(rule.group for rule in every), *(rule.id for rule in every)]
            raise errors.UsageError(
                f"expected a rule, a group of rules or a pattern of them, got {pattern!r}: "
                f"--list shows them.{suggestions.did_you_mean(pattern, known)}"
            )
    return [rule for rule in every if not wanted or any(_is_named(rule, p) for p in wanted)]


def skipped(texts: Iterable[str]) -> Mapping[str, str]:
    """Return id -> reason for texts `RULE=REASON`.

    Raises UsageError for a text without a reason and for one that names no rule.
    """
    found: dict[str, str] = {}
    for text in texts:
        pattern, _, reason = text.partition("=")
        if not reason.strip():
            raise errors.UsageError(
                f"expected --skip RULE=REASON, got {text!r}: say why the rule is left out"
            )
        found |= {rule.id: reason.strip() for rule in chosen([pattern])}
    return found


def _is_named(rule: Rule, pattern: str) -> bool:
    return pattern == rule.group or fnmatch.fnmatchcase(rule.id, pattern)
