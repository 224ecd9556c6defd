"""The tables of all objects, with what each commit updates: history, owners, garbage, listeners.

Every change of an object goes through `put` or `remove`; each call is one commit with one version,
and the versions count the commits of all resources. No rule of Kubernetes belongs here.
"""

import collections
from collections.abc import Callable, Iterable

from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache

Key = tuple[str, str]
"""Namespace and name."""
Place = tuple[resources.ResourceType, Key]
"""Resource, and namespace and name, of one object."""
Listener = Callable[[watch_cache.Commit], None]
_Table = dict[str, stored_objects.Stored]
"""Objects by their keys in etcd."""


class Objects:
    """All objects, as they are now and at the versions that the history reaches back to."""

    def __init__(
        self, *, watch_history: int, past: watch_cache.Past | None, listeners: Iterable[Listener]
    ) -> None:
        self._tables: dict[resources.ResourceType, _Table] = {item: {} for item in resources.STORED}
        self._sorted: set[resources.ResourceType] = set()
        """Resources whose tables are sorted, until an object is added."""
        self._history = watch_cache.CommitHistory(watch_history, floor=past.version if past else 0)
        self._listeners = list(listeners)
        self._dependents: collections.defaultdict[str, set[Place]] = collections.defaultdict(set)
        self._uids: set[str] = set()
        self._ending: dict[str, Place] = {}
        self._population: collections.Counter[str] = collections.Counter()
        """Number of objects in each namespace."""
        self.garbage: collections.deque[Place] = collections.deque()
        """Objects and namespaces that the garbage collector has to process."""
        self.resource_version = 0
        """The version of the newest commit."""
        if past is not None:
            self._restore(past)

    def _restore(self, past: watch_cache.Past) -> None:
        """Restore the past without calling listeners; queue objects that were being deleted."""
        self.resource_version = past.version
        for commit in past.objects:
            self._keep(commit)
        for change in past.changes:
            previous = self._tables[change.resource].get(change.object.key)
            commit = watch_cache.Commit(
                resource=change.resource, type=change.type, object=change.object, previous=previous
            )
            self.resource_version = change.object.resource_version
            self._keep(commit)
            self._history.append(commit)
        self.garbage.extend(self._ending.values())

    def as_past(self) -> watch_cache.Past:
        """Return the present objects, without history, in the order of their versions."""
        objects = [
            watch_cache.Commit(resource=resource, type="ADDED", object=stored)
            for resource, table in self._tables.items()
            for stored in table.values()
        ]
        objects.sort(key=lambda commit: commit.object.resource_version)
        return watch_cache.Past(version=self.resource_version, objects=objects)

    # -------------------------------------------------------------- reading

    def find(
        self, resource: resources.ResourceType, namespace: str, name: str
    ) -> stored_objects.Stored | None:
        return self._tables[resources.table_of(resource)].get(f"{namespace}/{name}")

    def all_of(self, resource: resources.ResourceType) -> list[stored_objects.Stored]:
        return [*self._sorted_table(resource).values()]

    def all_at(self, resource: resources.ResourceType, version: int) -> list[stored_objects.Stored]:
        """Return all objects of a resource as they were at a version, in the same order.

        Raises StatusError 410 if the version is no longer available.
        """
        commits = self.commits_after(resource, version)
        if not commits:
            return self.all_of(resource)
        table = dict(self._sorted_table(resource))
        for commit in reversed(commits):
            if commit.previous is None:
                table.pop(commit.object.key, None)
            else:
                table[commit.object.key] = commit.previous
        return [table[key] for key in sorted(table)]

    def _sorted_table(self, resource: resources.ResourceType) -> _Table:
        resource = resources.table_of(resource)
        table = self._tables[resource]
        if resource not in self._sorted:
            table = {key: table[key] for key in sorted(table)}
            self._tables[resource] = table
            self._sorted.add(resource)
        return table

    def contents(self, namespace: str) -> list[Place]:
        if not self._population[namespace]:
            return []
        return [
            (resource, (namespace, stored.name))
            for resource, table in self._tables.items()
            for stored in table.values()
            if stored.namespace == namespace
        ]

    def dependents(self, uid: str) -> list[Place]:
        """Return the objects that have this one as an owner, sorted by namespace and name."""
        return sorted(self._dependents.get(uid, ()), key=lambda place: place[1])

    def is_terminating(self, namespace: str) -> bool:
        """Return whether a namespace exists and is being deleted."""
        stored = self._tables[resources.NAMESPACES].get(f"/{namespace}")
        return stored is not None and stored.deleting

    def commits_after(
        self, resource: resources.ResourceType, version: int
    ) -> list[watch_cache.Commit]:
        """Return the commits of a resource after a version.

        Raises StatusError 410 if some of them are no longer available.
        """
        return self._history.after(resources.table_of(resource), version)

    def first_version(self, resource: resources.ResourceType) -> int:
        """Return the oldest version at which `all_at` can show a resource."""
        return self._history.first(resources.table_of(resource))

    def compact(self, resource: resources.ResourceType) -> None:
        """Forget the history of a resource, as a compaction of etcd does."""
        self._history.compact(resources.table_of(resource))

    def listen(self, listener: Listener) -> None:
        """Call the listener after every commit from now on, in order."""
        self._listeners.append(listener)

    # -------------------------------------------------------------- writing

    def put(
        self,
        resource: resources.ResourceType,
        old: stored_objects.Stored | None,
        document: Document,
        *,
        dry_run: bool = False,
    ) -> stored_objects.Stored:
        """Commit a new object, or the next version of an old one; a dry run only returns it."""
        if dry_run and old is None:
            return stored_objects.unstored(document)
        if dry_run and old is not None:
            return stored_objects.store(document, old.resource_version)
        stored = stored_objects.store(document, self.resource_version + 1)
        self._commit(resource, "ADDED" if old is None else "MODIFIED", stored, old)
        return stored

    def remove(
        self, resource: resources.ResourceType, old: stored_objects.Stored
    ) -> stored_objects.Stored:
        """Commit a deletion; return the last state with the version of the deletion."""
        last = stored_objects.store(old.document(), self.resource_version + 1)
        self._commit(resource, "DELETED", last, old)
        return last

    def _commit(
        self,
        resource: resources.ResourceType,
        kind: watch_cache.EventType,
        stored: stored_objects.Stored,
        old: stored_objects.Stored | None,
    ) -> None:
        resource = resources.table_of(resource)
        self.resource_version = stored.resource_version
        commit = watch_cache.Commit(resource=resource, type=kind, object=stored, previous=old)
        self._keep(commit)
        self._history.append(commit)
        for listener in self._listeners:
            listener(commit)

    def _keep(self, commit: watch_cache.Commit) -> None:
        resource, stored, old = commit.resource, commit.object, commit.previous
        place = (resource, (stored.namespace, stored.name))
        if commit.type == "DELETED":
            self._population[stored.namespace] -= 1
            del self._tables[resource][stored.key]
            self._track_owners(place, old.owners if old else (), ())
            self._forget(stored)
            return
        if old is None:
            self._population[stored.namespace] += 1
            self._sorted.discard(resource)
        self._tables[resource][stored.key] = stored
        self._uids.add(stored.uid)
        if stored.deleting:
            self._ending[stored.uid] = place
        self._track_owners(place, old.owners if old else (), stored.owners)

    def _track_owners(self, place: Place, before: tuple[str, ...], after: tuple[str, ...]) -> None:
        if before == after:
            return
        for uid in before:
            self._dependents[uid].discard(place)
            if not self._dependents[uid]:
                del self._dependents[uid]
        for uid in after:
            self._dependents[uid].add(place)
        if after and not any(uid in self._uids for uid in after):
            self.garbage.append(place)
        self.garbage.extend(self._ending[uid] for uid in before if uid in self._ending)

    def _forget(self, gone: stored_objects.Stored) -> None:
        """Queue the dependents of a removed object, and its namespace if that waited for it."""
        self._uids.discard(gone.uid)
        self._ending.pop(gone.uid, None)
        self.garbage.extend(self.dependents(gone.uid))
        if not self._population[gone.namespace]:
            del self._population[gone.namespace]
            if self.is_terminating(gone.namespace):
                self.garbage.append((resources.NAMESPACES, ("", gone.namespace)))
