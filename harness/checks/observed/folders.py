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


class Batch:
    """Observations of one resource that follow each other; none, or all, are of a final list."""

    __slots__ = ("metas", "resource", "seen", "types", "uids", "versions")

    def __init__(self, seen: Sequence[observations.SeenAny]) -> None:
        self.seen = seen
        self.resource = seen[0].resource
        self.metas = [item.object.metadata for item in seen]
        self.uids = [meta.uid for meta in self.metas]
        self.versions = [item.version for item in seen]
        self.types = {item.type for item in seen}


_NEW = frozenset({"ADDED", "LISTED"})
Seer: TypeAlias = Callable[[Batch], None]


class Folder:
    """Folds observations; a folder overrides the methods of what it wants to see.

    Methods of a kind see each version of an object that a watch or a list delivered, in the order
    of the records. Objects of the final lists are given to `see_final` alone.
    """

    def see_batch(self, batch: Batch) -> None:
        """See objects of any resource that follow each other, before the methods below do."""

    def see_any(self, seen: observations.SeenAny) -> None:
        """See an object of any resource."""

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
    observations.CLAIMS: ("see_new_claim", "see_claim"),
    observations.PODS: ("see_pod",),
    observations.SLICES: ("see_slice",),
    observations.NODES: ("see_node",),
    observations.CLASSES: ("see_class",),
    observations.TAINT_RULES: ("see_taint_rule",),
    observations.TEMPLATES: ("see_template",),
    observations.POD_GROUPS: ("see_pod_group",),
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
def fold(body: Iterable[records.Body | observations.SeenAny], *folders: Folder) -> None:
    """Give every record to the folders, in this order; those of a reader or a list many at once.

    Observations may be decoded already. Raises ObjectError if an object is not one of the API.
    """
    of_any = ("see_batch", "see_any")
    final, others = _seers(folders, "see_final"), _seers(folders, *of_any)
    by_resource = {name: _seers(folders, *of_any, *own) for name, own in _METHODS.items()}
    last_ns = 0
    for found in itertools.chain.from_iterable(map(_batches, _blocks(body))):
        if isinstance(found, Batch):
            is_final = "FINAL" in found.types
            for see in final if is_final else by_resource.get(found.resource, others):
                see(found)
            last_ns = found.seen[-1].ts_ns
        else:
            _see_other(found, folders)
    for folder in folders:
        folder.end(last_ns)


def _blocks(body: Iterable[Any]) -> Iterable[Sequence[Any]]:
    if isinstance(body, journal_reader.Reader):
        return body.blocks()
    return [body] if isinstance(body, Sequence) else ([record] for record in body)


def _batches(block: Sequence[Any]) -> Iterator[Any]:
    """Yield the observations among these records as batches, and each other record."""
    for kind, run in itertools.groupby(block, type):
        if kind is observations.Seen:
            yield from _by_resource(run)
        elif kind is records.Observation:
            yield from _by_resource(map(observations.decode, run))
        else:
            yield from run


def _by_resource(run: Iterator[observations.SeenAny]) -> Iterator[Batch]:
    for _, group in itertools.groupby(run, operator.attrgetter("resource")):
        batch = Batch(list(group))
        if "FINAL" in batch.types and len(batch.types) > 1:
            yield from (Batch([seen]) for seen in batch.seen)
        else:
            yield batch


def _see_other(record: Any, folders: Iterable[Folder]) -> None:
    for folder in folders:
        if isinstance(record, records.Listed):
            folder.see_list(record)
        elif isinstance(record, records.Gap):
            folder.see_gap(record)


def _seers(folders: Iterable[Folder], *names: str) -> list[Seer]:
    """Return what each folder has of these methods, each as one that sees a batch."""
    return [
        _of_batch(name, getattr(folder, name))
        for folder in folders
        for name in names
        if getattr(type(folder), name) is not getattr(Folder, name)
    ]


def _of_batch(name: str, method: Callable[[Any], None]) -> Seer:
    def see_each(batch: Batch) -> None:
        for seen in batch.seen:
            method(seen)

    def see_new(batch: Batch) -> None:
        for seen in () if _NEW.isdisjoint(batch.types) else batch.seen:
            if seen.type in _NEW:
                method(seen)

    return {"see_batch": method, "see_new_claim": see_new}.get(name, see_each)
