"""Gives the records of the recorder to all who fold them: one pass, each object decoded once.

Folders know nothing of each other until the end. So each one sees some observations in succession,
then the next folder sees the same ones: its code and data stay in the cache of the processor.
"""

import contextlib
import gc
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from harness.checks.observed import observations
from harness.history import journal_reader, records

BATCH = 64
"""Observations that each folder sees in succession; with 256, judging takes longer again."""


class Batch:
    """Observations of one resource that follow each other; none, or all, are of a final list."""

    __slots__ = ("is_regular", "metas", "resource", "seen", "types", "uids", "versions")

    def __init__(self, seen: Sequence[observations.SeenAny]) -> None:
        self.seen = seen
        self.resource = seen[0].resource
        self.metas = [item.object.metadata for item in seen]
        self.uids = [meta.uid for meta in self.metas]
        self.versions = versions = [item.version for item in seen]
        self.types = {item.type for item in seen}
        is_ascending = all(map(operator.lt, versions, versions[1:]))
        self.is_regular = is_ascending and self.types.isdisjoint(_LISTED)
        """They are events, in the order of their versions; as most are."""


_NEW, _LISTED = frozenset({"ADDED", "LISTED"}), frozenset({"LISTED", "FINAL"})
Seer: TypeAlias = Callable[[Batch], None]


class Folder:
    """Folds observations; a folder overrides the methods of what it wants to see.

    Methods of a kind see each version of an object that a watch or a list delivered, in the order
    of the records. Objects of the final lists are given to `see_final` alone.
    """

    def see_batch(self, batch: Batch) -> None:
        """See objects of any resource, before the methods that follow do."""

    def see_any(self, seen: observations.SeenAny) -> None:
        """See an object of any resource, before the method of its kind does."""

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """See a ResourceClaim."""

    def see_new_claim(self, seen: observations.SeenClaim) -> None:
        """See a ResourceClaim as it was created or listed, but none of its changes."""

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
def without_collections() -> Iterator[None]:
    """Do not search for cycles of objects: decoded objects have none, and the search takes long."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@without_collections()
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
    resource, is_final = "", False
    if batch > 1 and isinstance(body, journal_reader.Reader):
        body = itertools.chain.from_iterable(body.blocks())
    for record in body:
        if type(record) is observations.Seen:
            seen = record
        elif isinstance(record, records.Observation):
            seen = observations.decode(record)
        else:
            _show(waiting, seers)
            _see_other(record, folders)
            continue
        if seen.resource != resource or (seen.type == "FINAL") is not is_final:
            _show(waiting, seers)
            resource, is_final = seen.resource, seen.type == "FINAL"
            seers = final if is_final else by_resource.get(resource, others)
        waiting.append(seen)
        if len(waiting) >= batch:
            _show(waiting, seers)
    _show(waiting, seers)
    for folder in folders:
        folder.end(seen.ts_ns if seen is not None else 0)


def _show(waiting: list[observations.SeenAny], seers: Sequence[Seer]) -> None:
    if waiting:
        batch = Batch(waiting)
        for see in seers:
            see(batch)
        waiting.clear()


def _see_other(record: Any, folders: Iterable[Folder]) -> None:
    for folder in folders:
        if isinstance(record, records.Listed):
            folder.see_list(record)
        elif isinstance(record, records.Gap):
            folder.see_gap(record)


def _seers(
    folders: Sequence[Folder],
) -> tuple[Sequence[Seer], Sequence[Seer], dict[str, Sequence[Seer]]]:
    """Return what sees final objects, those of other resources, and those by resource."""
    by_resource: dict[str, Sequence[Seer]] = {
        resource: _overridden(folders, "see_any", method) for resource, method in _METHODS.items()
    }
    return _overridden(folders, "see_final"), _overridden(folders, "see_any"), by_resource


def _overridden(folders: Iterable[Folder], *methods: str) -> list[Seer]:
    """Return what each folder has of these methods, as one that sees a batch."""

    def own(folder: Folder, *names: str) -> list[Any]:
        return [
            getattr(folder, name)
            for name in names
            if getattr(type(folder), name) is not getattr(Folder, name)
        ]

    found: list[Seer] = []
    for folder in folders:
        whole = own(folder, "see_batch") if "see_any" in methods else []
        of_new = own(folder, "see_new_claim") if "see_claim" in methods else []
        each = own(folder, *methods)
        found += [*whole, *map(_only_new, of_new), *([_one_by_one(each)] if each else [])]
    return found


def _only_new(method: Callable[[observations.SeenClaim], None]) -> Seer:
    def see(batch: Batch) -> None:
        for seen in () if _NEW.isdisjoint(batch.types) else batch.seen:
            if seen.type in _NEW:
                method(seen)

    return see


def _one_by_one(methods: Sequence[Callable[[observations.SeenAny], None]]) -> Seer:
    def see(batch: Batch) -> None:
        for seen in batch.seen:
            for method in methods:
                method(seen)

    def see_by_one(batch: Batch) -> None:
        for seen in batch.seen:
            method(seen)

    [method, *others] = methods
    return see if others else see_by_one
