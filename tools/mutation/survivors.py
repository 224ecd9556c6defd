"""Which survivors are known, and why: tests/mutation/survivors.toml; and the table of the last run.

    [tests]
    "harness.checks.conclusions" = ["tests/unit/checks/test_conclusions.py"]

    [survivors."harness.checks.findings"]
    "limit: how many violations are told in full" = ["module: IN_FULL_MAX = 20 -> IN_FULL_MAX = 21"]

A reason begins with its kind: `equivalent` (no input tells the two apart), `order` (only the order
of what is told), `text` (only the words of a reason), `limit` (only how much is told), `speed`
(only how often something is computed).
"""

import collections
import dataclasses
import pathlib
import re
import tomllib
from collections.abc import Mapping, Sequence

from mutation import sessions

FOLDER = pathlib.Path("tests/mutation")
KINDS = ("equivalent", "order", "text", "limit", "speed")
_NOTICED, _ALL = "noticed", "all of them"
_ROW = re.compile(r"\| (?P<name>harness\S+) \| \d+ \| (?P<noticed>\d+) \| (?P<survivors>.*) \|")
_COUNT = re.compile(r"(\d+) (\w+)")
_HEAD = """# Mutation of the judge's code

Written by `make mutation`, which changes one comparison, condition, number or call below
`harness/checks` after the other, and runs the tests of its package that run its line. If no test
fails, the mutant has survived: `survivors.toml` says for each why no test can or need notice it.
`make mutation` fails if one has no reason there. `make mutation ARGS="--write harness.checks.holds"`
does it for one package, and leaves the other rows.

A survivor is `equivalent` if no input tells it from the code, or it changes only the `order` of
what is told, the `text` of a reason, the `limit` of how much is told, or the `speed`. `unexplained`
ones have no reason yet; among them are those whose modules have to be imported with the change.
Modules without a row have not been tried.

| module | mutants | noticed | survivors |
|---|---|---|---|
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """The content of the file."""

    tests: Mapping[str, list[str]]
    reasons: Mapping[str, Mapping[str, str]]
    """For each module, the reason of each survivor."""


def known() -> Known:
    """Return what the file says. Raises ValueError if a reason has none of the known kinds."""
    told = tomllib.loads((FOLDER / "survivors.toml").read_text())
    reasons = {
        module: {change: reason for reason, changes in item.items() for change in changes}
        for module, item in told["survivors"].items()
    }
    for reason in (reason for item in reasons.values() for reason in item.values()):
        if kind(reason) not in KINDS:
            raise ValueError(f"expected a reason that begins with one of {KINDS}, got {reason!r}")
    return Known(told["tests"], reasons)


def kind(reason: str) -> str:
    """Return the kind of a reason."""
    return reason.partition(":")[0]


def tests_of(module: str, given: Known) -> list[str]:
    """Return the tests of a module: those of its package if the file names no others."""
    package = module.rpartition(".")[0]
    named = given.tests.get(module) or given.tests.get(package)
    return named or ["tests/unit/" + "/".join(package.split(".")[1:])]


def unexplained(found: Sequence[sessions.Result], reasons: Mapping[str, str]) -> list[str]:
    """Return the survivors without a reason, each with its line."""
    return [
        f"{item.mutant.line}: {item.mutant.told}{'' if item.is_run else ' (no test runs this)'}"
        for item in found
        if not item.is_noticed and item.mutant.told not in reasons
    ]


def outdated(found: Sequence[sessions.Result], reasons: Mapping[str, str]) -> list[str]:
    """Return the changes with a reason that are noticed now, or are not there."""
    survivors = {item.mutant.told for item in found if not item.is_noticed}
    return sorted(reasons.keys() - survivors)


def write(results: Mapping[str, Sequence[sessions.Result]], given: Known) -> None:
    """Write the table; the rows of modules that are not among the results stay."""
    rows = _written()
    rows |= {name: _counts(found, given.reasons.get(name, {})) for name, found in results.items()}
    rows = {
        name: rows[name] for name in sorted(rows) if pathlib.Path(sessions.file_of(name)).exists()
    }
    rows[_ALL] = sum(rows.values(), collections.Counter())
    _table().write_text(_HEAD + "".join(_row(*item) for item in rows.items()))


def _written() -> dict[str, collections.Counter[str]]:
    """Return the rows of the table as it is."""
    found = {}
    for line in _table().read_text().splitlines() if _table().exists() else ():
        if match := _ROW.fullmatch(line):
            counts = {kind: int(count) for count, kind in _COUNT.findall(match["survivors"])}
            found[match["name"]] = collections.Counter({_NOTICED: int(match["noticed"]), **counts})
    return found


def _table() -> pathlib.Path:
    return FOLDER / "README.md"


def _counts(
    found: Sequence[sessions.Result], reasons: Mapping[str, str]
) -> collections.Counter[str]:
    """Return the number of mutants that were noticed, and of those that were not, by kind."""
    return collections.Counter(
        _NOTICED if item.is_noticed else kind(reasons.get(item.mutant.told, "unexplained"))
        for item in found
    )


def _row(name: str, counts: collections.Counter[str]) -> str:
    told = [f"{count} {kind}" for kind, count in counts.most_common() if kind != _NOTICED]
    survivors = ", ".join(told) or "none"
    return f"| {name} | {counts.total()} | {counts[_NOTICED]} | {survivors} |\n"
