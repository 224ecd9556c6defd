"""The uses of an API server's objects by requests and commits, for a search that goes by uses.

A request that creates or deletes an object uses all objects: uids are drawn from one stream, and
what depends on an object goes with it. Any other one reads the objects of its resource, and its
commit changes them. The commits of all resources have versions from one counter, but no one
compares those of different resources.
"""

import zlib
from collections.abc import Collection
from typing import Protocol

from harness.apiserver.storage import watch_cache
from harness.explore.runtime import tasks

_RELATED = ""


class UsesRuntime(Protocol):
    """The part of the runtime that records uses."""

    def first_past(self) -> int:
        """Return the past of a new shared object."""

    def touch(self, shared: tasks.Shared, more: int = 0) -> None:
        """Record that the running task changes, or may change, a shared object."""

    def observe(self, shared: tasks.Shared, more: int = 0) -> None:
        """Record that the running task reads a shared object."""


class ServerObjects:
    """The objects of one API server, by resource."""

    def __init__(self, runtime: UsesRuntime, related: Collection[str] | None) -> None:
        """`related`: plural names of resources; between the commits of two of them the order
        matters to the world or to its oracles. None: of all resources.
        """
        self._runtime, self._related = runtime, related
        self._all = tasks.Shared(runtime.first_past())
        self._by_resource: dict[str, tasks.Shared] = {}

    def read(self, plural: str) -> None:
        """Record a read of the objects of one resource."""
        self._runtime.observe(self._all)
        self._runtime.observe(self._of(plural))

    def change_by(self, commit: watch_cache.Commit) -> None:
        """Record what a commit changes."""
        if commit.type == "MODIFIED":
            self.change(commit.resource.plural)
        else:
            self.change_all()

    def change(self, plural: str) -> None:
        """Record a change of the objects of one resource, or of their watches."""
        self._runtime.observe(self._all)
        self._runtime.touch(self._of(plural))

    def change_all(self) -> None:
        """Record a change on which every request depends."""
        self._runtime.touch(self._all)

    def _of(self, plural: str) -> tasks.Shared:
        key = _RELATED if self._related is None or plural in self._related else plural
        if key not in self._by_resource:
            # crc32 is the same in every process
            past = hash((self._all.identity, zlib.crc32(key.encode())))
            self._by_resource[key] = tasks.Shared(past)
        return self._by_resource[key]
