"""Paths of files within a volume."""

from collections.abc import Iterator

from harness.apiserver.rules import causes
from harness.apiserver.statuses import Cause


def without_backsteps(path: str, at: str) -> Iterator[Cause]:
    """A path that does not climb."""
    if ".." in path.split("/"):
        yield causes.invalid(at, path, "must not contain '..'")


def descending(path: str, at: str) -> Iterator[Cause]:
    """A relative path that does not climb."""
    if path.startswith("/"):
        yield causes.invalid(at, path, "must be a relative path")
    yield from without_backsteps(path, at)


def unreserved(path: str, at: str) -> Iterator[Cause]:
    """A relative path that neither climbs nor begins with two dots, as the names that the kubelet uses do."""
    yield from descending(path, at)
    if path.startswith("..") and not path.startswith("../"):
        yield causes.invalid(at, path, "must not start with '..'")
