"""Gives the records of the recorder to all who fold them: one pass, each object decoded once.

Folders know nothing of each other until the end. So each one sees some observations in succession,
then the next folder sees the same ones: its code and data stay in the cache of the processor.
"""

import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from harness.checks.observed import observations
from harness.history import records

Seer: TypeAlias = Callable[[observations.SeenAny], None]
BATCH = 64
"""Observations that each folder sees in succession; with 256, judging takes longer again."""


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

    def see_pod_group(self, seen: observations.SeenPodGroup) -> None:
        """See a PodGroup."""

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
    observations.POD_GROUPS: "see_pod_group",
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
def fold(
    body: Iterable[records.Body | observations.SeenAny], *folders: Folder, batch: int = BATCH
) -> None:
    """Give every record to the folders, in this order; up to `batch` observations at once.

    Observations may be decoded already. Raises ObjectError if an object is not one of the API.
    """
    final, others, by_resource = _seers(folders)
    waiting: list[observations.SeenAny] = []
    seers: Sequence[Seer] = ()
    seen: observations.SeenAny | None = None
    for record in body:
        if isinstance(record, observations.Seen):
            seen = record
        elif isinstance(record, records.Observation):
            seen = observations.decode(record)
        else:
            _show(waiting, seers)
            _see_other(record, folders)
            continue
        wanted = final if seen.type == "FINAL" else by_resource.get(seen.resource, others)
        if wanted is not seers:
            _show(waiting, seers)
            seers = wanted
        waiting.append(seen)
        if len(waiting) >= batch:
            _show(waiting, seers)
    _show(waiting, seers)
    for folder in folders:
        folder.end(seen.ts_ns if seen is not None else 0)


def _show(waiting: list[observations.SeenAny], seers: Sequence[Seer]) -> None:
    for see in seers:
        for seen in waiting:
            see(seen)
    waiting.clear()


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
    """Return what each folder has of these methods; several of them as one."""

    def is_own(folder: Folder, method: str) -> bool:
        return getattr(type(folder), method) is not getattr(Folder, method)

    found: list[Seer] = []
    for folder in folders:
        own = [getattr(folder, method) for method in methods if is_own(folder, method)]
        if own:
            found.append(own[0] if len(own) == 1 else _in_turn(own))
    return found


def _in_turn(methods: Sequence[Seer]) -> Seer:
    def see(seen: observations.SeenAny) -> None:
        for method in methods:
            method(seen)

    return see
