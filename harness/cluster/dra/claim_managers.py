"""The DRA manager of one kubelet: prepares the claims of pods, and unprepares them.

After the kubelet's `cm/dra/manager.go`. Before a pod runs, each of its claims is read from the API
server, and must be the pod's own, allocated, and reserved for it. A claim is prepared once for all
its pods on the node, and unprepared after the last of them.

Two things differ, because upstream is known to be wrong there. While a claim is unprepared, a new
pod that uses it waits (kubernetes#140527). A claim that is prepared with other devices than those
of its allocation is refused until it is unprepared; upstream would start the pod with the old ones.
"""

import contextlib
import dataclasses
from collections.abc import Callable, Iterable

from harness import clocks, concurrency
from harness.cluster.dra import (
    claim_infos,
    kubelet_metrics,
    pod_claims,
    preparation_journals,
)
from harness.cluster.driver import drivers
from harness.cluster.kubelet_api import preparations
from harness.model.objects import Object

GetClaim = Callable[[str, str], Object | None]
"""Returns the claim with this namespace and name from the API server; None: there is none."""


@dataclasses.dataclass(slots=True)
class _Entry:
    """A claim on this node. Its lock is held while a driver is called for it."""

    info: claim_infos.ClaimInfo
    lock: concurrency.Lock
    prepared: bool = False
    """This process has prepared it."""
    restored: bool = False
    """An earlier process has prepared it."""
    gone: bool = False
    """It was unprepared: a thread that waited for the lock must look again."""


class ClaimManager:
    """The claims of one node. Thread-safe, but a pod is handled by one thread at a time."""

    def __init__(
        self,
        node: str,
        *,
        get_claim: GetClaim,
        driver: drivers.Driver,
        checkpoint: claim_infos.Checkpoint,
        journal: preparation_journals.PreparationJournal,
        metrics: kubelet_metrics.KubeletMetrics | None = None,
    ) -> None:
        """Continue with the claims of the checkpoint; `metrics` None: measure nothing.

        Raises UsageError if the checkpoint is damaged.
        """
        self._node, self._get_claim = node, get_claim
        self._driver, self._checkpoint, self._journal = driver, checkpoint, journal
        self._metrics = metrics
        self._guard = concurrency.lock("kubelet.claims")
        self._entries: dict[str, _Entry] = {}
        for info in checkpoint.load():
            restored = driver.restore(info, node)
            self._entries[info.key] = _Entry(info, _lock(info), restored=restored)
            if not restored:
                self._note_unprepared(info)

    def pods(self) -> set[tuple[str, str]]:
        """Return `namespace/name` and uid of the pods that use a claim."""
        with self._guard:
            return {
                (f"{entry.info.namespace}/{name}", uid)
                for entry in self._entries.values()
                for uid, name in entry.info.pods.items()
            }

    def infos(self, pod_uid: str | None = None) -> list[claim_infos.ClaimInfo]:
        """Return the claims that a pod uses; None: those that any pod uses."""
        if pod_uid is not None:
            return [entry.info for entry in self._used_by(pod_uid)]
        with self._guard:
            return [entry.info for entry in self._entries.values() if entry.info.pods]

    def prepare(self, pod: Object, claims: Iterable[pod_claims.PodClaim]) -> None:
        """Prepare the claims of a pod that need it.

        Raises PreparationError if one cannot be prepared now; those before it stay in use by the
        pod, until `unprepare`. Raises ApiError and TransportError if one cannot be read.
        """
        found = [self._read(pod, claim) for claim in claims]
        entries = [self._refer(pod, claim) for claim in found]
        self._save()
        for claim, entry in zip(found, entries, strict=True):
            self._prepare_once(pod, claim, entry)

    def unprepare(self, pod_uid: str) -> None:
        """Let a pod use no claim any longer, and unprepare those that no other pod uses.

        Raises PreparationError if the driver fails; the pod keeps using that claim and those
        after it.
        """
        for entry in self._used_by(pod_uid):
            with entry.lock:
                if not self._leave(entry, pod_uid):
                    self._unprepare(entry, pod_uid)
        self._save()

    def _note_unprepared(self, info: claim_infos.ClaimInfo) -> None:
        """Journal that a claim of the checkpoint is not prepared, for all that is known.

        The process before was killed before it could journal the end, or before the driver was
        called at all.
        """
        with self._journal.unpreparing(self._node, info, next(iter(info.pods.items()))):
            pass

    def _read(self, pod: Object, claim: pod_claims.PodClaim) -> Object:
        """Return the claim as the API server has it, if the pod may use it."""
        meta, begun_ns = pod["metadata"], clocks.monotonic_ns()
        found = self._get_claim(meta["namespace"], claim.name)
        problem = _problem(found, claim, pod)
        if found is None or problem is not None:
            info = _described(found, meta["namespace"], claim.name)
            error = problem or preparations.PreparationError("NotFound", "there is no such claim")
            self._journal.refused(self._node, info, _named(pod), error, begun_ns=begun_ns)
            raise error
        return found

    def _refer(self, pod: Object, claim: Object) -> _Entry:
        """Note that the pod uses the claim; wait while the claim is being unprepared."""
        while True:
            entry = self._find(claim, pod)
            with entry.lock, self._guard:
                if not entry.gone:
                    entry.info.pods[pod["metadata"]["uid"]] = pod["metadata"]["name"]
                    return entry

    def _find(self, claim: Object, pod: Object) -> _Entry:
        wanted, begun_ns = claim_infos.of(claim), clocks.monotonic_ns()
        with self._guard:
            entry = self._entries.get(wanted.key)
            if entry is None:
                entry = self._entries[wanted.key] = _Entry(wanted, _lock(wanted))
        error = _mismatch(entry.info, wanted)
        if error is not None:
            self._journal.refused(self._node, wanted, _named(pod), error, begun_ns=begun_ns)
            raise error
        return entry

    def _prepare_once(self, pod: Object, claim: Object, entry: _Entry) -> None:
        with entry.lock:
            if not entry.prepared:
                with (
                    self._journal.preparing(self._node, entry.info, _named(pod)),
                    self._measured(entry, kubelet_metrics.NODE_PREPARE),
                ):
                    self._driver.prepare(claim, entry.info, self._node)
                entry.prepared = True

    def _measured(self, entry: _Entry, method: str) -> contextlib.AbstractContextManager[None]:
        if self._metrics is None:
            return contextlib.nullcontext()
        return self._metrics.call(entry.info, method)

    def _used_by(self, pod_uid: str) -> list[_Entry]:
        with self._guard:
            return [entry for entry in self._entries.values() if pod_uid in entry.info.pods]

    def _leave(self, entry: _Entry, pod_uid: str) -> bool:
        """Remove a pod from a claim's users; return False, and keep it, if it is the last one."""
        with self._guard:
            if len(entry.info.pods) > 1:
                del entry.info.pods[pod_uid]
                return True
            return False

    def _unprepare(self, entry: _Entry, pod_uid: str) -> None:
        pod = pod_uid, entry.info.pods[pod_uid]
        if entry.prepared or entry.restored:
            with (
                self._journal.unpreparing(self._node, entry.info, pod),
                self._measured(entry, kubelet_metrics.NODE_UNPREPARE),
            ):
                self._driver.unprepare(entry.info, self._node)
        with self._guard:
            del self._entries[entry.info.key]
            entry.gone = True

    def _save(self) -> None:
        with self._guard:
            self._checkpoint.save(entry.info for entry in self._entries.values())


def _lock(info: claim_infos.ClaimInfo) -> concurrency.Lock:
    return concurrency.lock(f"kubelet.claim.{info.name}")


def _problem(
    claim: Object | None, wanted: pod_claims.PodClaim, pod: Object
) -> preparations.PreparationError | None:
    """Return why a pod may not use a claim, None if it may."""
    uid = pod["metadata"]["uid"]
    if claim is None:
        return preparations.PreparationError("NotFound", "there is no such claim")
    if wanted.generated and not pod_claims.is_for(claim, uid):
        return preparations.PreparationError("NotOwned", "the claim was not created for the pod")
    if not pod_claims.is_reserved(claim, uid):
        return preparations.PreparationError("NotReserved", "the claim is not reserved for the pod")
    if not pod_claims.is_allocated(claim):
        return preparations.PreparationError("NotAllocated", "the claim is not allocated")
    return None


def _mismatch(
    known: claim_infos.ClaimInfo, wanted: claim_infos.ClaimInfo
) -> preparations.PreparationError | None:
    if known.uid != wanted.uid:
        return preparations.PreparationError(
            "StillPrepared",
            f"old claim with same name {known.name} and different UID {known.uid} still exists",
        )
    if known.devices != wanted.devices:
        return preparations.PreparationError(
            "AllocationChanged",
            f"the claim is still prepared with {', '.join(known.devices) or 'no device'}",
        )
    return None


def _described(claim: Object | None, namespace: str, name: str) -> claim_infos.ClaimInfo:
    """Return what is known of a claim that the pod may not use."""
    if claim is not None and pod_claims.is_allocated(claim):
        return claim_infos.of(claim)
    uid = claim["metadata"]["uid"] if claim is not None else ""
    return claim_infos.ClaimInfo(namespace=namespace, name=name, uid=uid, devices=[])


def _named(pod: Object) -> tuple[str, str]:
    return pod["metadata"]["uid"], pod["metadata"]["name"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KubeletParts:
    """The parts; the defaults are the correct ones."""

    manager: type[ClaimManager] = ClaimManager
    checkpoint: type[claim_infos.Checkpoint] = claim_infos.Checkpoint
    driver: type[drivers.Driver] = drivers.Driver


CORRECT = KubeletParts()
"""No known defect."""
