"""Run the tests of what differs from a commit: of harness/X/… those in tests/unit/X/…

    .venv/bin/python tools/quick_tests.py [COMMIT]

A changed module runs the tests of its folder, a changed test runs itself.
"""

import pathlib
import subprocess
import sys
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[1]


def changed(commit: str) -> list[str]:
    """Return the files that differ from a commit, also new ones."""
    commands = (
        ["git", "diff", "--name-only", commit],
        ["git", "ls-files", "--others", "--exclude-standard"],
    )
    found = [
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        for command in commands
    ]
    return [line for done in found for line in done.stdout.splitlines()]


def tests_of(path: str) -> Iterator[pathlib.Path]:
    """Yield the test file, or the folder of tests, of a changed file."""
    file = ROOT / path
    if file.name.startswith("test_") and file.exists():
        yield file
    elif path.startswith("harness/"):
        folder = ROOT / "tests/unit" / file.relative_to(ROOT / "harness").parent
        while not folder.exists():
            folder = folder.parent
        if folder != ROOT / "tests/unit":
            yield folder


def main() -> None:
    """Run them, without those that `make test` defers."""
    commit = sys.argv[1] if sys.argv[1:] else "HEAD"
    chosen = sorted({str(test) for path in changed(commit) for test in tests_of(path)})
    if not chosen:
        sys.exit(f"nothing that has tests differs from {commit}")
    command = [sys.executable, "-m", "pytest", "--fast", "-n", "2", "-x", *chosen]
    sys.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
