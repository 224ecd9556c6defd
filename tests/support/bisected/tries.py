"""Bisections by git over twelve commits, again and again: how often is the right one named?

    python -m tests.support.bisected.tries 20

The commit with the defect is drawn again for each try. Slow: a try makes about thirty runs.
"""

import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

from tests.support.bisected import commits

PROGRAM = f"{sys.executable} {commits.PROGRAM} {{kubeconfig}} {{scheduler_name}}"
TEST = (sys.executable, "-m", "harness.cli.main", "test", PROGRAM, f"./{commits.SCENARIO}")
ROOT = pathlib.Path(__file__).parents[3]
_NAMED = re.compile(r"^([0-9a-f]{40}) is the first bad commit", re.MULTILINE)
_STEP = re.compile(r"step \d+ of about \d+: .*")


def bisect(folder: pathlib.Path, made: Sequence[str], *options: str) -> tuple[str, str]:
    """Bisect a repository with these commits; return the one that git names, or nothing, and the
    output.
    """
    git = ("git", "-C", str(folder), "bisect")
    subprocess.run([*git, "start", made[-1], made[0]], check=True, capture_output=True)
    ended = subprocess.run(
        [*git, "run", *TEST, "--bisect", "--quiet", *options],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    named = _NAMED.search(ended.stdout)
    return named[1] if named else "", ended.stdout + ended.stderr


def main(arguments: Sequence[str]) -> int:
    """Make the tries; exit code 1 if more than one in twenty went wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.bisected.tries")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", default="2")
    asked = parser.parse_args(arguments)
    stream, right = random.Random(asked.seed), 0
    for number in range(1, asked.count + 1):
        place, began = stream.randint(2, commits.COMMITS), time.monotonic()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name) / "twelve"
            made = commits.repository(folder, defect_at=place)
            named, text = bisect(folder, made, "--jobs", asked.jobs)
        wanted = made[place - 1]
        right += wanted == named
        word = "right" if wanted == named else f"WRONG ({named or 'no name'})"
        steps = "\n".join(f"  {line}" for line in _STEP.findall(text)) or text
        sys.stdout.write(
            f"try {number}, commit {place}: {word}, {time.monotonic() - began:.0f} s\n{steps}\n"
        )
        sys.stdout.flush()
    sys.stdout.write(f"{right} of {asked.count} right\n")
    return int(asked.count - right > asked.count / 20)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
