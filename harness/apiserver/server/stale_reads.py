"""Stale reads: the older state that a get or list shows when a fault asks for it."""

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import conversion
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache
from harness.faults import stale_reads


def older_state(
    store: stores.Store,
    times: stale_reads.VersionTimes,
    request: request_info.Request,
    seconds: float,
) -> tuple[int, str] | None:
    """Return the version of some seconds ago that a read may show, and a remark for the record.

    None if it is no read of resources, asks for an exact or a newer version, or if its result has
    not changed since.
    """
    target = request.target
    if target is None or not target.resource.is_stored or request.verb not in ("get", "list"):
        return None
    older = times.ago(seconds, first=store.first_version(target.resource))
    if older is None or not stale_reads.accepts(request.query, older[0]):
        return None
    return older if _has_changed(store, request, target, older[0]) else None


def has_new_finalizers(
    store: stores.Store,
    times: stale_reads.VersionTimes,
    request: request_info.Request,
    seconds: float,
) -> bool:
    """Return whether a request names an object that had no finalizers at some time since then.

    It has some now, and is not being deleted.
    """
    target = request.target
    if target is None or not target.resource.is_stored or target.subresource:
        return False
    older = times.ago(seconds, first=store.first_version(target.resource))
    try:
        now = store.get(target.resource, target.namespace, target.name)
    except status_errors.StatusError:
        return False  # it is gone
    if older is None or now.deleting or not _has_finalizers(now):
        return False
    commits = store.commits_after(target.resource, older[0])
    mine = [commit for commit in commits if commit.object.uid == now.uid]
    states = [state for commit in mine for state in (commit.previous, commit.object) if state]
    return not all(map(_has_finalizers, states))


class PastReader:
    """Reads of the objects as they were at a version, which the history must still reach."""

    def __init__(self, store: stores.Store, version: int) -> None:
        self._store, self.resource_version = store, version

    def get(
        self, resource: resources.ResourceType, namespace: str, name: str
    ) -> stored_objects.Stored:
        """Return the object; raises StatusError 404 if it did not exist."""
        for commit in self._store.commits_after(resource, self.resource_version):
            if (commit.object.namespace, commit.object.name) == (namespace, name):
                if commit.previous is None:
                    raise status_errors.not_found(resource, name)
                return conversion.outward(resource, commit.previous)
        return self._store.get(resource, namespace, name)

    def select(self, selection: watch_cache.Selection) -> list[stored_objects.Stored]:
        """Return the objects that were selected, ordered by namespace and name."""
        return self._store.select_at(selection, self.resource_version)

    def select_at(
        self, selection: watch_cache.Selection, version: int
    ) -> list[stored_objects.Stored]:
        return self._store.select_at(selection, version)


def _has_finalizers(stored: stored_objects.Stored) -> bool:
    return bool(stored.document()["metadata"].get("finalizers"))


def _has_changed(
    store: stores.Store, request: request_info.Request, target: request_info.Target, version: int
) -> bool:
    """Return whether a read of the current state would show something else."""
    try:
        selection = request.selection(target)  # for a get, of the object of that name
    except status_errors.StatusError:
        return False  # the request will be refused
    commits = store.commits_after(target.resource, version)
    return any(True for _ in selection.sees_all(commits))
