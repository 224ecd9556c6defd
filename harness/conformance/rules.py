"""Rules before they are checked: their weight, their words and their sources."""

import dataclasses
import enum
import fnmatch
from collections.abc import Iterable, Mapping, Sequence

from harness import errors, seeds, suggestions


class Level(enum.StrEnum):
    """How much weight a rule has."""

    MUST = "must"
    """Pods fail where it is broken: the verdict is INVALID."""
    SHOULD = "should"
    """The documentation recommends it; it is reported, and has no say in the verdict."""
    NOTE = "note"
    """Worth knowing, but not documented as a rule."""

    def counts(self, least: "Level") -> bool:
        """Return whether it has at least the weight of another one."""
        levels = list(Level)
        return levels.index(self) <= levels.index(least)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One documented behaviour."""

    id: str
    """`group/name`."""
    level: Level
    says: str
    """A sentence that is true if the rule holds."""
    sources: Sequence[str]
    """Documents, proposals, files of upstream's source and issues that say so."""
    fails: str = ""
    """The consequence for users if it does not hold."""

    @property
    def group(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]


def chosen(rules: Sequence[Rule], patterns: Iterable[str]) -> list[Rule]:
    """Return the rules that one of the patterns names: ids, groups, or with `*`; none: all.

    Raises UsageError for a pattern that names none.
    """
    wanted = list(patterns)
    for pattern in wanted:
        if not any(_is_named(rule, pattern) for rule in rules):
            known = [*dict.fromkeys(rule.group for rule in rules), *(rule.id for rule in rules)]
            raise errors.UsageError(
                f"expected a rule, a group of rules or a pattern of them, got {pattern!r}: "
                f"--list shows them.{suggestions.did_you_mean(pattern, known)}"
            )
    return [rule for rule in rules if not wanted or any(_is_named(rule, p) for p in wanted)]


def ordered(rules: Sequence[Rule], seed: int | None, number: int) -> list[Rule]:
    """Return rules in an order drawn for a repetition; None: as they are."""
    if seed is None:
        return list(rules)
    return seeds.Seeds(seed).stream("rules", number).sample(rules, len(rules))


def skipped(rules: Sequence[Rule], texts: Iterable[str]) -> Mapping[str, str]:
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
        found |= {rule.id: reason.strip() for rule in chosen(rules, [pattern])}
    return found


def _is_named(rule: Rule, pattern: str) -> bool:
    return pattern == rule.group or fnmatch.fnmatchcase(rule.id, pattern)
