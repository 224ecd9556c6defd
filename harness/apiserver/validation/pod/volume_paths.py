"""Paths of files within a volume."""

from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause


def without_backsteps(path: str, at: str) -> Iterator[Cause]:
    """A path that does not climb."""
    if ".." in path.split("/"):
        yield field_errors.invalid(at, path, "must not contain '..'")


def descending(path: str, at: str) -> Iterator[Cause]:
    """A relative path that does not climb."""
    if path.startswith("/"):
        yield field_errors.invalid(at, path, "must be a relative path")
    yield from without_backsteps(path, at)


def unreserved(path: str, at: str) -> Iterator[Cause]:
    """A relative path that neither climbs nor begins with two dots, as the names that the kubelet uses do."""
    yield from descending(path, at)
    if path.startswith("..") and not path.startswith("../"):
        yield field_errors.invalid(at, path, "must not start with '..'")
