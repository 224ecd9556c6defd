"""The tests that `make test` defers: of these, each commit runs another tenth.

tests/deferred.txt lists them, a line each: the beginning of their node ids, or of those that run
all the same. `make test-all` runs everything.
"""

import collections
import functools
import os
import pathlib
import subprocess
import zlib
from collections.abc import Iterable, Iterator, Sequence

import pytest

LIST = pathlib.Path(__file__).parents[1] / "deferred.txt"
COMMIT = "FLAKE_HUNT_SLICE"
"""Variable with the text that chooses them; without it, the commit of the checkout."""
SHARE = 10
AMOUNTS = {"FLAKE_HUNT_CUTS": "2"}
"""Numbers of random inputs, a sixth of those of `make test-all`."""
EXAMPLES = 25
"""Examples of a test of hypothesis that does not choose their number, instead of 100."""


@functools.cache
def lists() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the beginnings of the node ids of deferred tests, and those of exceptions."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    deferred = tuple(line for line in lines if line and line[0] not in "#!")
    return deferred, tuple(line[1:] for line in lines if line.startswith("!"))


def commit() -> str:
    """Return what chooses the deferred tests that run; worker processes inherit it."""
    if COMMIT not in os.environ:
        command = ["git", "-C", str(LIST.parent), "rev-parse", "--short=12", "HEAD"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        os.environ[COMMIT] = done.stdout.strip() or "no commit"
    return os.environ[COMMIT]


def divided(items: Sequence[pytest.Item]) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return the tests to run, and those that are left out."""
    chosen: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (chosen if is_chosen(item.nodeid, commit()) else left_out).append(item)
    return chosen, left_out


def is_chosen(nodeid: str, of_commit: str) -> bool:
    """Return whether a test is not deferred, or is among those that a commit chooses."""
    if not is_deferred(nodeid):
        return True
    return zlib.crc32(f"{of_commit} {nodeid}".encode()) % SHARE == 0


def is_deferred(nodeid: str) -> bool:
    deferred, exceptions = lists()
    return nodeid.startswith(deferred) and not nodeid.startswith(exceptions)


def told(nodeids: Iterable[str]) -> Iterator[str]:
    """Yield a line for each folder: how many deferred tests of its files are among these."""
    folders = collections.defaultdict(collections.Counter[str])
    for path in (pathlib.PurePosixPath(it.partition("::")[0]) for it in nodeids if is_deferred(it)):
        folders[str(path.parent)][path.stem.removeprefix("test_")] += 1
    for folder, files in sorted(folders.items()):
        yield f"{folder}: {', '.join(f'{name} {count}' for name, count in sorted(files.items()))}"
