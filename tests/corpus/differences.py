"""The list of known differences: which cases the embedded server answers otherwise, each with its reason."""

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


def known() -> list[Difference]:
    """The list."""
    document = tomllib.loads(LIST.read_text(encoding="utf-8"))
    return [Difference(item["reason"], tuple(item["cases"])) for item in document["difference"]]


def reasons() -> Mapping[str, str]:
    """The reason of each case in the list."""
    return {case: item.reason for item in known() for case in item.cases}
