"""What can be asked of the objects: as they are now, as they were, and what has happened since."""

from harness.apiserver.errors import status_errors
from harness.apiserver.registry import conversion
from harness.apiserver.scheme import resources
from harness.apiserver.storage import object_tables, stored_objects, watch_cache


class StoreReader:
    """Reads what is kept; each resource is shown in the version in which it is asked for."""

    def __init__(self, kept: object_tables.Objects) -> None:
        self._objects = kept
        self._first_version = 0
        """The version at which it began: what was before was never there to be listed."""

    @property
    def resource_version(self) -> int:
        """The version of the newest commit."""
        return self._objects.resource_version

    def get(
        self, resource: resources.ResourceType, namespace: str, name: str
    ) -> stored_objects.Stored:
        """The object; 404 when there is none."""
        stored = self._find(resources.table_of(resource), namespace, name)
        return conversion.outward(resource, stored)

    def has(self, resource: resources.ResourceType, namespace: str, name: str) -> bool:
        """Whether there is such an object."""
        return self._objects.find(resource, namespace, name) is not None

    def _find(
        self, resource: resources.ResourceType, namespace: str, name: str
    ) -> stored_objects.Stored:
        stored = self._objects.find(resource, namespace, name)
        if stored is None:
            raise status_errors.not_found(resource, name)
        return stored

    def select(self, selection: watch_cache.Selection) -> list[stored_objects.Stored]:
        """The selected objects, ordered by namespace and name."""
        return _listed(selection, self._objects.all_of(selection.resource))

    def select_at(
        self, selection: watch_cache.Selection, version: int
    ) -> list[stored_objects.Stored]:
        """The objects that were selected at a version; 410 when that is too long ago."""
        if version < self._first_version:
            raise status_errors.expired(version, self._first_version)
        return _listed(selection, self._objects.all_at(selection.resource, version))

    def tables(self) -> list[tuple[resources.ResourceType, list[stored_objects.Stored]]]:
        """Every object as it is now, by resource."""
        tables = self._objects.tables()
        return [(resource, list(table.values())) for resource, table in tables.items()]

    def commits_after(
        self, resource: resources.ResourceType, version: int
    ) -> list[watch_cache.Commit]:
        """The commits of a resource after a version; 410 when they are no longer all there."""
        return self._objects.commits_after(resource, version)

    def compact(self, resource: resources.ResourceType) -> None:
        """Forget the history of a resource, as compaction does."""
        self._objects.compact(resource)

    def listen(self, listener: object_tables.Listener) -> None:
        """Be told of every commit, in order, from now on."""
        self._objects.listen(listener)


def _listed(
    selection: watch_cache.Selection, objects_at: list[stored_objects.Stored]
) -> list[stored_objects.Stored]:
    """Those that are selected, as clients of the resource see them."""
    resource, found = selection.resource, selection.among(objects_at)
    if resources.table_of(resource) is resource:
        return found
    return [conversion.outward(resource, stored) for stored in found]
