"""Which survivors are known, and why: tests/mutation/survivors.toml; and the table of the last run.

    [tests]
    "harness.checks.conclusions" = ["tests/unit/checks/test_conclusions.py"]

    [survivors."harness.checks.claims.findings"]
    "limit: how many violations are told in full" = ["module: IN_FULL_MAX = 20 -> IN_FULL_MAX = 21"]

A reason begins with its kind: `equivalent` (no input tells the two apart), `order` (only the order
of what is told), `text` (only the words of a reason), `limit` (only how much is told), `speed`
(only how often something is computed).
"""

import collections
import dataclasses
import pathlib
import tomllib
from collections.abc import Mapping, Sequence

from mutation import sessions

FOLDER = pathlib.Path("tests/mutation")
KINDS = ("equivalent", "order", "text", "limit", "speed")
_HEAD = """# Mutation of the judge's code

Written by `make mutation ARGS=--write`. `make mutation` changes one comparison, condition, number
or call below `harness/checks` after the other, and asks whether a test of its package fails. A
survivor that is not in `survivors.toml`, with the reason why no test can or need notice it, makes
it fail.

| module | mutants | noticed | survivors |
|---|---|---|---|
"""


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """What the file says."""

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
    """Write the table."""
    rows = [_row(name, found, given.reasons.get(name, {})) for name, found in results.items()]
    everything = [item for found in results.values() for item in found]
    every = {change: why for reasons in given.reasons.values() for change, why in reasons.items()}
    rows.append(_row("all", everything, every))
    (FOLDER / "README.md").write_text(_HEAD + "".join(rows))


def _row(name: str, found: Sequence[sessions.Result], reasons: Mapping[str, str]) -> str:
    survivors = [item.mutant.told for item in found if not item.is_noticed]
    kinds = collections.Counter(kind(reasons.get(told, "unexplained")) for told in survivors)
    told = ", ".join(f"{count} {name}" for name, count in kinds.most_common())
    return f"| `{name}` | {len(found)} | {len(found) - len(survivors)} | {told or 'none'} |\n"
