"""The tests that `make test` defers: of these, each commit runs another twentieth.

tests/deferred.txt lists them, a line each: the beginning of their node ids, or of those that run
all the same. `make test-all` runs everything.
"""

import functools
import os
import pathlib
import subprocess
import zlib
from collections.abc import Sequence

import pytest

LIST = pathlib.Path(__file__).parents[1] / "deferred.txt"
COMMIT = "FLAKE_HUNT_SLICE"
"""Variable with the text that chooses them; without it, the commit of the checkout."""
SHARE = 20
AMOUNTS = {"FLAKE_HUNT_HISTORIES": "300", "FLAKE_HUNT_EDITS": "120"}
"""Numbers of random inputs, a tenth to a fifth of those of `make test-all`."""


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
    deferred, exceptions = lists()
    if not nodeid.startswith(deferred) or nodeid.startswith(exceptions):
        return True
    return zlib.crc32(f"{of_commit} {nodeid}".encode()) % SHARE == 0
