"""The list of known differences: which cases the embedded server answers otherwise, each with its
reason.
"""

import dataclasses
import pathlib
import tomllib
from collections.abc import Mapping

LIST = pathlib.Path(__file__).with_name("differences.toml")


@dataclasses.dataclass(frozen=True, slots=True)
class Difference:
    """Cases that differ for one reason."""

    reason: str
    cases: tuple[str, ...]
    sometimes: bool = False
    """Return whether they match if another event happens late enough."""


def known() -> list[Difference]:
    document = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return [
        Difference(item["reason"], tuple(item["cases"]), item.get("sometimes", False))
        for item in document["difference"]
    ]


def reasons() -> Mapping[str, str]:
    return {case: item.reason for item in known() for case in item.cases}


def always() -> set[str]:
    """The cases of the list that never match."""
    return {case for item in known() if not item.sometimes for case in item.cases}
