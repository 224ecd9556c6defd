"""Mutation of the judge's modules: is every small change of the code noticed by its tests?

    .venv/bin/python tools/mutations.py harness.checks.claims.reservations
    .venv/bin/python tools/mutations.py harness.checks.holds tests/unit/checks/holds

changes one comparison, condition, number or call of a module, or of all modules of a package, after
the other, runs the tests that run its line, and prints the changes with which all tests pass. A
survivor is a change without effect, which tests/mutation/survivors.toml explains, or a test that is
missing: then the exit code is 1. Without TESTS it runs those of the module's package. The files
are not touched. FLAKE_HUNT_HISTORIES (300 if it is not set) limits the random histories.
"""

import argparse
import collections
import importlib
import os
import pathlib
import sys
from collections.abc import Iterator

from mutation import sessions, survivors

_HISTORIES = "300"
"""The fewest with which the tests against brute force find enough of each kind."""
_SLOW_IMPORTS = ("msgspec", "numpy", "pandas", "pytest", "backports.zstd")
"""Every child needs them. None is of the repository, whose modules may be mutants."""


def main(chosen: argparse.Namespace) -> int:
    """Print the survivors without a reason; return 1 if there are any."""
    os.environ.setdefault("FLAKE_HUNT_HISTORIES", _HISTORIES)
    for name in _SLOW_IMPORTS:
        importlib.import_module(name)
    known = survivors.known()
    results = {}
    for name, found in _results(modules_of(chosen.module), chosen.tests, known):
        results[name] = found
        _tell(name, found, known.reasons.get(name, {}))
    if chosen.write:
        survivors.write(dict(sorted(results.items())), known)
    return int(
        any(
            survivors.unexplained(found, known.reasons.get(name, {}))
            for name, found in results.items()
        )
    )


def modules_of(name: str) -> list[str]:
    """Return the modules of a package, or the one module."""
    file = pathlib.Path(sessions.file_of(name))
    if not file.exists():
        raise SystemExit(f"expected a module or package such as harness.checks.holds, got {name!r}")
    if file.name != "__init__.py":
        return [name]
    files = sorted(path for path in file.parent.rglob("*.py") if path.name != "__init__.py")
    return [".".join(path.relative_to(pathlib.Path.cwd()).with_suffix("").parts) for path in files]


def _results(
    modules: list[str], tests: list[str], known: survivors.Known
) -> Iterator[tuple[str, list[sessions.Result]]]:
    together: dict[tuple[str, ...], list[str]] = collections.defaultdict(list)
    for module in modules:
        together[tuple(tests or survivors.tests_of(module, known))].append(module)
    for chosen, guarded in together.items():
        yield from sessions.results(guarded, list(chosen))


def _tell(name: str, found: list[sessions.Result], reasons: dict[str, str]) -> None:
    survived = sum(not item.is_noticed for item in found)
    unexplained = survivors.unexplained(found, reasons)
    print(
        f"{name}: {len(found)} mutants, {survived} survived, {len(unexplained)} of them for no"
        " known reason",
        flush=True,
    )
    for told in unexplained:
        print(f"  {told}")
    for told in survivors.outdated(found, reasons):
        print(f"  has a reason, but is noticed or not there: {told}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("module", help="a module or a package, for example harness.checks.claims")
    parser.add_argument("tests", nargs="*", help="files or folders of tests")
    parser.add_argument("--write", action="store_true", help="write tests/mutation/README.md")
    return parser.parse_args()


if __name__ == "__main__":
    try:
        raise SystemExit(main(_arguments()))
    except sessions.TestsFailError as error:
        sys.exit(str(error))
