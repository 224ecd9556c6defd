"""The rules of a DRA driver, as they are written in `rules.yaml`."""

import functools
import importlib.resources
from collections.abc import Sequence
from typing import Any

import yaml

from harness.conformance import rules

_FILE = "rules.yaml"
_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@functools.cache
def all_rules() -> Sequence[rules.Rule]:
    """Return all rules, in the order in which they are checked."""
    text = importlib.resources.files(__package__).joinpath(_FILE).read_text("utf-8")
    groups = yaml.load(text, Loader=_Loader)  # noqa: S506
    return tuple(
        _rule(group, name, entry)
        for group, rules in groups.items()
        for name, entry in rules.items()
    )


def _rule(group: str, name: str, entry: Any) -> rules.Rule:
    return rules.Rule(
        id=f"{group}/{name}",
        level=rules.Level(entry["level"]),
        says=entry["says"],
        fails=entry["fails"],
        sources=tuple(entry["sources"]),
    )
