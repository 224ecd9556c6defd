"""Stale reads: the older state that a get or list shows when a fault asks for it.

As the watch cache of an API server may, a read shows the state at an older resourceVersion, but
never one that is older than the version it asks for; without a version it asks for the newest.
Reads of exactly one version always show that version.
"""

import array
import bisect
import dataclasses
from collections.abc import Callable

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import conversion
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache

STEP_S = 0.01
"""Precision of the times of versions; a state is shown up to this much older, never newer."""
_MARKS_MAX = 360_000
"""Number of times that are kept at least: an hour of commits without a pause."""


class VersionTimes:
    """The times at which versions were current."""

    def __init__(self, time_s: Callable[[], float], version: int) -> None:
        """`time_s` is a monotonic clock, `version` the newest one now."""
        self._time_s = time_s
        self._times = array.array("d", [time_s()])
        self._versions = array.array("q", [version])

    def note(self, version: int) -> None:
        """Note that this version is the newest one now."""
        if version == self._versions[-1]:
            return
        now_s = self._time_s()
        if len(self._times) > 1 and now_s < self._times[-2] + STEP_S:
            self._times[-1], self._versions[-1] = now_s, version
            return
        self._times.append(now_s)
        self._versions.append(version)
        if len(self._times) > 2 * _MARKS_MAX:
            del self._times[:_MARKS_MAX], self._versions[:_MARKS_MAX]

    def version_ago(self, seconds: float) -> tuple[int, bool]:
        """Return the version that was current some seconds ago, and whether that is known.

        If it is not, the version is the oldest known one.
        """
        index = bisect.bisect_right(self._times, self._time_s() - seconds) - 1
        return self._versions[max(index, 0)], index >= 0

    def age_s(self, version: int) -> float:
        """Return the age of a version in seconds; for the oldest known one and earlier, at least.

        It is too high by at most STEP_S.
        """
        index = bisect.bisect_right(self._versions, version) - 1
        return self._time_s() - self._times[max(index, 0)]


@dataclasses.dataclass(frozen=True, slots=True)
class OlderState:
    """The state that a stale read shows."""

    version: int
    note: str
    """A remark for the record: the state is less old than asked. Empty: it is not."""


def older_state(
    store: stores.Store, times: VersionTimes, request: request_info.Request, seconds: float
) -> OlderState | None:
    """Return the state of some seconds ago that a read may show.

    None if it is no read of resources, asks for an exact or a newer version, or if its result has
    not changed since.
    """
    target = request.target
    if target is None or not target.resource.is_stored or not _is_free_to_choose(request):
        return None
    version, is_known = times.version_ago(seconds)
    first = store.first_version(target.resource)
    version, is_known = max(version, first), is_known and version >= first
    if version < _asked_version(request) or not _has_changed(store, request, target, version):
        return None
    age = f"the oldest state that is kept, {times.age_s(version):.1f} s old"
    return OlderState(version, "" if is_known else age)


def has_new_finalizers(
    store: stores.Store, times: VersionTimes, request: request_info.Request, seconds: float
) -> bool:
    """Return whether a request names an object that had no finalizers at some time since then.

    It has some now, and is not being deleted.
    """
    target = request.target
    if target is None or not target.resource.is_stored or target.subresource:
        return False
    version = max(times.version_ago(seconds)[0], store.first_version(target.resource))
    try:
        now = store.get(target.resource, target.namespace, target.name)
    except status_errors.StatusError:
        return False  # it is gone
    if now.deleting or not _has_finalizers(now):
        return False
    commits = store.commits_after(target.resource, version)
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


def _is_free_to_choose(request: request_info.Request) -> bool:
    """Return whether it is a get or list that accepts any version, or any from some version on.

    Without a resourceVersion a read asks for the newest state.
    """
    query = request.query
    if request.verb not in ("get", "list") or not query.get("resourceVersion"):
        return False
    return query.get("resourceVersionMatch") != "Exact"


def _asked_version(request: request_info.Request) -> int:
    text = request.query.get("resourceVersion", "")
    return int(text) if text.isascii() and text.isdecimal() else 0


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
