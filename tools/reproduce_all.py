"""Reproduce the track record: every known defect, hazard, script and real run, one after the other.

    make reproduce-all                                  all, but the loads: about twenty minutes
    .venv/bin/python tools/reproduce_all.py --loads     with every scenario of `hunt --all`
    .venv/bin/python tools/reproduce_all.py --write     and write down the commit that did it

tests/reproduced.json has each item with its command and the last commit that reproduced it. Items
of this file that cannot be reproduced are named, and the exit code is 1.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).parents[1]
RECORD = ROOT / "tests" / "reproduced.json"
FLAKE_HUNT = (sys.executable, "-m", "harness.cli.main")
TESTS = {
    "script": "tests/e2e/runs/test_scripts.py",
    "real run": "tests/unit/checks/test_real_runs.py",
    "golden run": "tests/unit/checks/test_golden.py",
}
"""Tests that play every script, and judge every run that is kept."""
INVALID = 10

Item = tuple[str, str]
"""A name, and the command that reproduces it."""


def explored() -> Iterator[Item]:
    """Yield the defects and hazards with the commands that find them: exit code 10."""
    known = json.loads(_output(*FLAKE_HUNT, "defects", "--output", "json"))
    for defect in known["defects"]:
        command = defect["command"]
        yield f"defect {defect['name']}", command
    for hazard in known["hazards"]:
        if not (hazard["defects"] or hazard["right_here"]):
            for world in hazard["worlds"]:
                yield f"hazard {hazard['id']} in {world}", f"explore {world}"


def is_found(command: str) -> bool:
    """Return whether a command finds something; a run is made up to three times, as a control."""
    with tempfile.TemporaryDirectory() as folder:
        words, attempts = command.split(), 1
        if words[0] == "run":
            words, attempts = [*words, "--reports", folder], 3
        return any(_exit_code(*words) == INVALID for _ in range(attempts))


def _exit_code(*words: str) -> int:
    command = (*FLAKE_HUNT, *words)
    return subprocess.run(command, check=False, capture_output=True).returncode


def tested(kind: str, path: str) -> dict[Item, bool]:
    """Return the items that a test module has tests of, and whether all tests of it passed.

    An item has the name between the brackets of a test; a skipped test says nothing of it.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "junit.xml"
        options = ("-q", "-p", "no:cacheprovider", f"--junitxml={file}")
        subprocess.run((sys.executable, "-m", "pytest", path, *options), check=False, cwd=ROOT)
        cases = [*ElementTree.parse(file).iter("testcase")]  # noqa: S314
    results = dict[Item, bool]()
    for case in cases:
        item = case.attrib["name"].partition("[")[2].removesuffix("]")
        if item and case.find("skipped") is None:
            passed = case.find("failure") is None and case.find("error") is None
            key = (f"{kind} {item}", path)
            results[key] = passed and results.get(key, True)
    return results


def loads() -> dict[Item, bool]:
    """Return the rows of `hunt --all`, and whether each was as expected."""
    with tempfile.TemporaryDirectory() as folder:
        command = ("hunt", "--all", "--repeat", "1", "--reports", folder)
        subprocess.run((*FLAKE_HUNT, *command), check=False)
        found = next(pathlib.Path(folder).rglob("results.json"))
        rows: Sequence[Mapping[str, Any]] = json.loads(found.read_text("utf-8"))["rows"]
    return {
        (f"load {row['scenario']} {row['subject']}", "hunt --all"): row["is_as_expected"]
        for row in rows
    }


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def reproduced(*, with_loads: bool) -> dict[Item, bool]:
    items = list(explored())
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = dict[Item, bool]()
        for item, ok in zip(items, pool.map(is_found, [it[1] for it in items]), strict=True):
            print("" if ok else "NOT ", f"reproduced: {item[0]}", sep="", flush=True)
            results[item] = ok
    for kind, path in TESTS.items():
        results |= tested(kind, path)
    return results | (loads() if with_loads else {})


def main() -> None:
    """Reproduce everything, compare with the record, and write it if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--loads", action="store_true", help="also every scenario of `hunt --all`")
    parser.add_argument("--write", action="store_true", help="write the commit into the record")
    options = parser.parse_args()
    results = reproduced(with_loads=options.loads)
    record = json.loads(RECORD.read_text("utf-8")) if RECORD.is_file() else {}
    commit = _output("git", "rev-parse", "--short=12", "HEAD").strip()
    done = {name: {"by": by, "commit": commit} for (name, by), ok in results.items() if ok}
    unasked = {name for name in record if name.startswith("load ")} if not options.loads else set()
    lost = sorted(record.keys() - done.keys() - unasked)
    for name in lost:
        print(f"lost: {name}, last reproduced by {record[name]['by']} at {record[name]['commit']}")
    print(f"{len(done)} of {len(results)} reproduced, {len(lost)} lost")
    if options.write:
        text = json.dumps(record | done, indent=1, sort_keys=True)
        RECORD.write_text(f"{text}\n", "utf-8")
    sys.exit(1 if lost or len(done) < len(results) else 0)


if __name__ == "__main__":
    main()
