"""The list of known differences: which cases the embedded server answers otherwise, each with its reason."""

import dataclasses
import pathlib
import tomllib
from collections.abc import Iterable, Mapping

LIST = pathlib.Path(__file__).with_name("differences.toml")
NOT_YET = "not yet"


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


def write_unfinished(failed: Iterable[str]) -> None:
    """Have the list name these cases as well, and no case that is not among them."""
    wanted = set(failed)
    kept = [Difference(i.reason, tuple(c for c in i.cases if c in wanted)) for i in known()]
    new = wanted - {case for item in kept for case in item.cases}
    rest = {case for item in kept if item.reason == NOT_YET for case in item.cases}
    others = [item for item in kept if item.reason != NOT_YET and item.cases]
    unfinished = Difference(NOT_YET, tuple(sorted(new | rest)))
    LIST.write_text("\n".join(_toml(item) for item in [*others, unfinished] if item.cases))


def _toml(item: Difference) -> str:
    cases = "".join(f'  "{case}",\n' for case in item.cases)
    return f'[[difference]]\nreason = "{item.reason}"\ncases = [\n{cases}]\n'
