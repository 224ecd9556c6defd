"""Gives the records of the recorder to all who fold them: one pass, each object decoded once."""

import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from harness.checks.observed import observations
from harness.history import records

Seer: TypeAlias = Callable[[observations.SeenAny], None]


class Folder:
    """Folds observations; a folder overrides the methods of what it wants to see.

    Methods of a kind see each version of an object that a watch or a list delivered, in the order
    of the records. Objects of the final lists are given to `see_final` alone.
    """

    def see_any(self, seen: observations.SeenAny) -> None:
        """See an object of any resource, before the method of its kind does."""

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """See a ResourceClaim."""

    def see_pod(self, seen: observations.SeenPod) -> None:
        """See a pod."""

    def see_slice(self, seen: observations.SeenSlice) -> None:
        """See a ResourceSlice."""

    def see_node(self, seen: observations.SeenNode) -> None:
        """See a node."""

    def see_class(self, seen: observations.SeenClass) -> None:
        """See a DeviceClass."""

    def see_taint_rule(self, seen: observations.SeenTaintRule) -> None:
        """See a DeviceTaintRule."""

    def see_template(self, seen: observations.SeenTemplate) -> None:
        """See a ResourceClaimTemplate."""

    def see_final(self, seen: observations.SeenAny) -> None:
        """See an object of a final list."""

    def see_list(self, listed: records.Listed) -> None:
        """See that a list begins; its objects follow."""

    def see_gap(self, gap: records.Gap) -> None:
        """See a gap in the watch of a resource."""

    def end(self, ts_ns: int) -> None:
        """See that there are no more records; `ts_ns` is the time of the last observation."""

    def conclude(self, others: Mapping[type, Any]) -> None:
        """Look at what other folders, by their types, made of the same records."""


_METHODS = {
    observations.CLAIMS: "see_claim",
    observations.PODS: "see_pod",
    observations.SLICES: "see_slice",
    observations.NODES: "see_node",
    observations.CLASSES: "see_class",
    observations.TAINT_RULES: "see_taint_rule",
    observations.TEMPLATES: "see_template",
}


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """Do not search for cycles of objects: decoded objects have none, and the search takes long."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@_without_collections()
def fold(body: Iterable[records.Body | observations.SeenAny], *folders: Folder) -> None:
    """Give every record to the folders, in this order.

    Observations may be decoded already. Raises ObjectError if an object is not one of the API.
    """
    final, others, by_resource = _seers(folders)
    seen: observations.SeenAny | None = None
    for record in body:
        if isinstance(record, observations.Seen):
            seen = record
        elif isinstance(record, records.Observation):
            seen = observations.decode(record)
        else:
            _see_other(record, folders)
            continue
        for see in final if seen.type == "FINAL" else by_resource.get(seen.resource, others):
            see(seen)
    for folder in folders:
        folder.end(seen.ts_ns if seen is not None else 0)


def _see_other(record: records.Body, folders: Iterable[Folder]) -> None:
    for folder in folders:
        if isinstance(record, records.Listed):
            folder.see_list(record)
        elif isinstance(record, records.Gap):
            folder.see_gap(record)


def _seers(
    folders: Sequence[Folder],
) -> tuple[Sequence[Seer], Sequence[Seer], dict[str, Sequence[Seer]]]:
    """Return the methods that see final objects, those of other resources, and those by resource.

    Methods that do nothing are left out.
    """
    by_resource: dict[str, Sequence[Seer]] = {
        resource: _overridden(folders, "see_any", method) for resource, method in _METHODS.items()
    }
    return _overridden(folders, "see_final"), _overridden(folders, "see_any"), by_resource


def _overridden(folders: Iterable[Folder], *methods: str) -> list[Seer]:
    def is_own(folder: Folder, method: str) -> bool:
        return getattr(type(folder), method) is not getattr(Folder, method)

    found: list[Any] = [
        getattr(folder, method)
        for folder in folders
        for method in methods
        if is_own(folder, method)
    ]
    return found
