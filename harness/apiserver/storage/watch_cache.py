"""The history of commits, and the events that a watch with selectors sees.

After k8s.io/apiserver/pkg/storage/cacher.
"""

import collections
import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.storage import selectors, stored_objects

EventType = Literal["ADDED", "MODIFIED", "DELETED"]


class Commit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One commit: the creation, change or deletion of one object."""

    resource: resources.ResourceType
    type: EventType
    object: stored_objects.Stored
    """The new state; for DELETED the last one, with the version of the deletion."""
    previous: stored_objects.Stored | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The state that a store is restored from: all objects at one version, and changes since.

    The previous states of the changes need not be given.
    """

    version: int
    objects: Iterable[Commit]
    changes: Iterable[Commit] = ()


class CommitHistory:
    """The newest commits of each resource, at most `limit` of each resource."""

    def __init__(self, limit: int, *, floor: int = 0) -> None:
        """Start without the commits up to and including version `floor`."""
        self._limit = limit
        self._floor = floor
        self._commits: dict[resources.ResourceType, collections.deque[Commit]] = {}
        self._dropped: dict[resources.ResourceType, int] = {}

    def append(self, commit: Commit) -> None:
        """Add a commit; drops the oldest one of its resource if there are too many."""
        commits = self._commits.setdefault(commit.resource, collections.deque())
        commits.append(commit)
        if len(commits) > self._limit:
            self._dropped[commit.resource] = commits.popleft().object.resource_version

    def compact(self, resource: resources.ResourceType) -> None:
        """Drop all commits of a resource, so that resuming from an older version is 410."""
        commits = self._commits.get(resource)
        if commits:
            self._dropped[resource] = commits[-1].object.resource_version
            commits.clear()

    def first(self, resource: resources.ResourceType) -> int:
        """Return the oldest version after which all commits of a resource are kept."""
        return self._dropped.get(resource, self._floor)

    def after(self, resource: resources.ResourceType, version: int) -> list[Commit]:
        """Return the commits after a version, oldest first.

        Raises StatusError 410 if some of them were dropped.
        """
        dropped = self.first(resource)
        if version < dropped:
            raise status_errors.expired(version, dropped)
        newer = itertools.takewhile(
            lambda commit: commit.object.resource_version > version,
            reversed(self._commits.get(resource, ())),
        )
        return [*newer][::-1]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The objects that a list or a watch selects."""

    resource: resources.ResourceType
    namespace: str = ""
    label: selectors.LabelSelector | None = None
    field: selectors.FieldSelector | None = None

    def has(self, stored: stored_objects.Stored) -> bool:
        """Return whether the object is selected."""
        if self.namespace and stored.namespace != self.namespace:
            return False
        if self.label is not None and not self.label(dict(stored.labels)):
            return False
        return self.field is None or self.field(stored)

    def among(self, objects: list[stored_objects.Stored]) -> list[stored_objects.Stored]:
        """Return the selected ones of `objects`, in the same order."""
        if self.label is not None or self.field is not None:
            return [stored for stored in objects if self.has(stored)]
        if not self.namespace:
            return objects
        return [stored for stored in objects if stored.namespace == self.namespace]

    def sees(self, commit: Commit) -> tuple[EventType, stored_objects.Stored] | None:
        """Return the event that a watch sees; None if it sees none.

        An object that enters the selection is ADDED, one that leaves it is DELETED.
        """
        if self.namespace and commit.object.namespace != self.namespace:
            return None
        if self.label is None and self.field is None:
            return commit.type, commit.object
        before = commit.previous is not None and self.has(commit.previous)
        now = commit.type != "DELETED" and self.has(commit.object)
        match before, now:
            case True, True:
                return "MODIFIED", commit.object
            case False, True:
                return "ADDED", commit.object
            case True, False:
                return "DELETED", _left(commit)
        return None

    def sees_all(self, commits: list[Commit]) -> Iterator[tuple[EventType, stored_objects.Stored]]:
        for commit in commits:
            if (seen := self.sees(commit)) is not None:
                yield seen


def _left(commit: Commit) -> stored_objects.Stored:
    """Return the last state in the selection, with the version at which the object left it."""
    if commit.previous is None or commit.type == "DELETED":
        return commit.object
    return stored_objects.store(commit.previous.document(), commit.object.resource_version)
