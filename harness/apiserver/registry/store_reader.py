"""Reads: objects as they are now, as they were at a version, and the commits since."""

from harness.apiserver.errors import status_errors
from harness.apiserver.registry import conversion
from harness.apiserver.scheme import resources
from harness.apiserver.storage import object_tables, stored_objects, watch_cache


class StoreReader:
    """The reading half of the store; objects are converted to the version that is asked for."""

    def __init__(self, objects: object_tables.Objects) -> None:
        self._objects = objects
        self._first_version = 0
        """The version at which this store started; no earlier version can be listed."""

    @property
    def resource_version(self) -> int:
        """The version of the newest commit."""
        return self._objects.resource_version

    def get(
        self, resource: resources.ResourceType, namespace: str, name: str
    ) -> stored_objects.Stored:
        """Return the object; raises StatusError 404 if it does not exist."""
        stored = self._find(resources.table_of(resource), namespace, name)
        return conversion.outward(resource, stored)

    def has(self, resource: resources.ResourceType, namespace: str, name: str) -> bool:
        """Return whether the object exists."""
        return self._objects.find(resource, namespace, name) is not None

    def _find(
        self, resource: resources.ResourceType, namespace: str, name: str
    ) -> stored_objects.Stored:
        stored = self._objects.find(resource, namespace, name)
        if stored is None:
            raise status_errors.not_found(resource, name)
        return stored

    def select(self, selection: watch_cache.Selection) -> list[stored_objects.Stored]:
        """Return the selected objects, ordered by namespace and name."""
        return _listed(selection, self._objects.all_of(selection.resource))

    def select_at(
        self, selection: watch_cache.Selection, version: int
    ) -> list[stored_objects.Stored]:
        """Return the objects that were selected at a version.

        Raises StatusError 410 if the version is no longer available.
        """
        if version < self._first_version:
            raise status_errors.expired(version, self._first_version)
        return _listed(selection, self._objects.all_at(selection.resource, version))

    def first_version(self, resource: resources.ResourceType) -> int:
        """Return the oldest version at which a resource can be read."""
        return max(self._first_version, self._objects.first_version(resource))

    def at(self, version: int) -> "PastReader":
        return PastReader(self._objects, version)

    def tables(self) -> list[tuple[resources.ResourceType, list[stored_objects.Stored]]]:
        tables = self._objects.tables()
        return [(resource, list(table.values())) for resource, table in tables.items()]

    def counts(self) -> dict[resources.ResourceType, int]:
        """Return the number of objects of each resource."""
        return {resource: len(table) for resource, table in self._objects.tables().items()}

    def commits_after(
        self, resource: resources.ResourceType, version: int
    ) -> list[watch_cache.Commit]:
        """Return the commits of a resource after a version.

        Raises StatusError 410 if some of them are no longer available.
        """
        return self._objects.commits_after(resource, version)

    def compact(self, resource: resources.ResourceType) -> None:
        """Forget the history of a resource, as a compaction of etcd does."""
        self._objects.compact(resource)

    def listen(self, listener: object_tables.Listener) -> None:
        """Call the listener after every commit from now on, in order."""
        self._objects.listen(listener)


class PastReader(StoreReader):
    """Reads of the objects as they were at a version, which the history must still reach."""

    def __init__(self, objects: object_tables.Objects, version: int) -> None:
        super().__init__(objects)
        self._version = version

    @property
    def resource_version(self) -> int:
        """The version of the state that is read."""
        return self._version

    def select(self, selection: watch_cache.Selection) -> list[stored_objects.Stored]:
        """Return the objects that were selected, ordered by namespace and name."""
        return self.select_at(selection, self._version)

    def _find(
        self, resource: resources.ResourceType, namespace: str, name: str
    ) -> stored_objects.Stored:
        for commit in self._objects.commits_after(resource, self._version):
            if (commit.object.namespace, commit.object.name) == (namespace, name):
                if commit.previous is None:
                    raise status_errors.not_found(resource, name)
                return commit.previous
        return super()._find(resource, namespace, name)


def _listed(
    selection: watch_cache.Selection, objects: list[stored_objects.Stored]
) -> list[stored_objects.Stored]:
    resource, selected = selection.resource, selection.among(objects)
    if resources.table_of(resource) is resource:
        return selected
    return [conversion.outward(resource, stored) for stored in selected]
