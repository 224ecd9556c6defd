"""Ask every release in a folder about every finding, and print a table in Markdown.

    .venv/bin/python tools/releases.py FOLDER [--repeat 3] [--only h01-lost-answer]

The files of FOLDER are kube-scheduler-VERSION and kube-controller-manager-VERSION. Each plays the
scripts of its own findings by `flake-hunt confirm`; a kube-scheduler also runs the loads that show
the two races of kubernetes#136269. The runs stay in reports/.
"""

import argparse
import collections
import pathlib
import subprocess
import sys
from collections.abc import Iterator

from harness.scenario import hazards, loading

OPTIONS = {"kube-scheduler": "--subject", "kube-controller-manager": "--claim-controller"}
LOADS = ("uses-all-resources", "pod-churn")
WORDS = {0: "not shown", 10: "shown", 20: "undecided", 2: "not possible"}


def questions(program: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the command of each scenario that shows a finding in a program."""
    for name in loading.SHELF.names(loading.CONFIRM):
        page = hazards.find(loading.load(name).scenario.known_to_fail)
        if page is not None and page.hazard.parts[:1] == [program]:
            yield name, ["confirm", name]
    if program == "kube-scheduler":
        yield from ((name, ["run", name]) for name in LOADS)


def answer(command: list[str], program: str, path: pathlib.Path, repeat: int) -> str:
    """Return what the runs of a command say, such as `3 shown`."""
    flake_hunt = [sys.executable, "-m", "harness", *command, OPTIONS[program], f"{program}={path}"]
    codes = [subprocess.run(flake_hunt, check=False).returncode for _ in range(repeat)]
    words = collections.Counter(WORDS.get(code, f"exit code {code}") for code in codes)
    return ", ".join(f"{count} {word}" for word, count in words.items())


def main() -> None:
    """Ask, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", action="append", default=[], help="a scenario or script")
    asked = parser.parse_args()
    for program in OPTIONS:
        paths = sorted(asked.folder.glob(f"{program}-*"))
        print(f"\n| | {' | '.join(path.name for path in paths)} |\n|{' --- |' * (len(paths) + 1)}")
        for name, command in questions(program):
            if not asked.only or name in asked.only:
                found = (answer(command, program, path, asked.repeat) for path in paths)
                print(f"| `{name}` | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main()
