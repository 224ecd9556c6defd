"""The DRA manager of one kubelet: prepares the claims of pods, and unprepares them.

After the kubelet's `cm/dra/manager.go`, in its order: before a pod runs, each of its claims is read
from the API server, and must be the pod's own, allocated, and reserved for it, and its drivers must
be registered. Then the claims are noted with the pod in the checkpoint, and each driver is called
once for all claims that this process has not prepared. A claim is unprepared after the last of its
pods, by one call of each driver for all such claims of the pod.

Two things differ, because upstream is known to be wrong there. While a claim is unprepared, a new
pod that uses it waits (kubernetes#140527). A claim that is prepared with other devices than those
of its allocation is refused until it is unprepared; upstream would start the pod with the old ones.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from harness import concurrency
from harness.cluster.dra import claim_infos, driver_calls, pod_claims
from harness.cluster.driver import drivers as test_drivers
from harness.cluster.driver import served_drivers
from harness.cluster.kubelet_api import preparations
from harness.history import records
from harness.model.objects import Object

GetClaim = Callable[[str, str], Object | None]
"""Returns the claim with this namespace and name from the API server; None: there is none."""


@dataclasses.dataclass(slots=True, eq=False)
class _Entry:
    """A claim on this node. Its lock is held while a driver is called for it."""

    info: claim_infos.ClaimInfo
    lock: concurrency.Lock
    prepared: bool = False
    """This process has prepared it."""
    gone: bool = False
    """It was unprepared: a thread that waited for the lock must look again."""


class ClaimManager:
    """The claims of one node. Thread-safe, but a pod is handled by one thread at a time."""

    def __init__(
        self,
        node: str,
        *,
        get_claim: GetClaim,
        drivers: driver_calls.Drivers,
        checkpoint: claim_infos.Checkpoint,
        write: driver_calls.Write,
    ) -> None:
        """Continue with the claims of the checkpoint; `write` journals what is prepared.

        Raises UsageError if the checkpoint is damaged.
        """
        self._node, self._get_claim = node, get_claim
        self._drivers, self._checkpoint, self._write = drivers, checkpoint, write
        self._guard = concurrency.lock("kubelet.claims")
        self._entries: dict[str, _Entry] = {}
        self._of_pods: dict[str, dict[_Entry, None]] = {}
        """uid of a pod -> the claims that it uses."""
        for info in checkpoint.load():
            entry = self._entries[info.key] = _Entry(info, _lock(info))
            for uid, name in info.pods.items():
                self._use(entry, uid, name)
            if not drivers.is_prepared(info, node):
                # The process before was killed before it could journal that the claim is not
                # prepared any more, or before a driver was called at all.
                self._attempt("unprepare", next(iter(info.pods.items()))).end(info)

    def pods(self) -> set[tuple[str, str]]:
        """Return `namespace/name` and uid of the pods that use a claim."""
        with self._guard:
            return {
                (f"{entry.info.namespace}/{name}", uid)
                for entry in self._entries.values()
                for uid, name in entry.info.pods.items()
            }

    def infos(self, pod_uid: str) -> list[claim_infos.ClaimInfo]:
        return [entry.info for entry in self._used_by(pod_uid)]

    def prepare(self, pod: Object, claims: Iterable[pod_claims.PodClaim]) -> None:
        """Prepare the claims of a pod that need it.

        Raises PreparationError if one cannot be prepared now: if that shows before a driver is
        called, the pod uses none of them, otherwise all, until `unprepare`. Raises ApiError and
        TransportError if one cannot be read.
        """
        found: dict[str, Object] = {}
        wanted: dict[str, claim_infos.ClaimInfo] = {}
        for claim in claims:
            found[claim.name] = self._read(pod, claim)
            wanted[claim.name] = claim_infos.of(found[claim.name])
            self._require_drivers(pod, wanted[claim.name])
        entries = [self._refer(pod, info) for info in wanted.values()]
        self._save(entries)
        with contextlib.ExitStack() as held:
            new = _hold(held, entries, lambda entry: not self._is_prepared(entry))
            if new:
                self._prepare(pod, found, new)
                self._save(new)

    def unprepare(self, pod_uid: str, pod: Object | None = None) -> None:
        """Let a pod use no claim any longer, and unprepare those that no other pod uses.

        They are those that were noted for it, and not those that the status of `pod` names: it may
        name none (kubernetes#139772).

        Raises PreparationError if a driver fails; the pod keeps using those claims.
        """
        del pod
        with contextlib.ExitStack() as held:
            users = self._used_by(pod_uid)
            last = _hold(held, users, lambda entry: not self._leave(entry, pod_uid))
            if last:
                self._unprepare(last, pod_uid)
        self._save(users)

    def _read(self, pod: Object, claim: pod_claims.PodClaim) -> Object:
        namespace, is_made = pod["metadata"]["namespace"], claim.name != pod_claims.UNKNOWN_NAME
        found = self._get_claim(namespace, claim.name) if is_made else None
        error = _obstacle(found, claim, pod)
        if found is not None and error is None:
            return found
        if found is not None and pod_claims.is_allocated(found):
            info = claim_infos.of(found)
        else:
            uid = found["metadata"]["uid"] if found is not None else ""
            info = claim_infos.ClaimInfo(namespace=namespace, name=claim.name, uid=uid, devices=[])
        raise self._refuse(pod, info, error or not_created(pod))

    def _require_drivers(self, pod: Object, wanted: claim_infos.ClaimInfo) -> None:
        try:
            for driver in wanted.drivers:
                self._drivers.plugin(driver, self._node)
        except preparations.PreparationError as error:
            raise self._refuse(pod, wanted, error) from None

    def _refer(self, pod: Object, wanted: claim_infos.ClaimInfo) -> _Entry:
        """Note that the pod uses the claim; wait while the claim is being unprepared."""
        while True:
            entry = self._find(wanted, pod)
            with entry.lock, self._guard:
                if not entry.gone:
                    self._use(entry, pod["metadata"]["uid"], pod["metadata"]["name"])
                    return entry

    def _use(self, entry: _Entry, pod_uid: str, pod: str) -> None:
        entry.info.pods[pod_uid] = pod
        self._of_pods.setdefault(pod_uid, {})[entry] = None

    def _find(self, wanted: claim_infos.ClaimInfo, pod: Object) -> _Entry:
        with self._guard:
            entry = self._entries.get(wanted.key)
            if entry is None:
                own = msgspec.structs.replace(wanted, pods={}, prepared={})
                entry = self._entries[wanted.key] = _Entry(own, _lock(own))
        error = _mismatch(entry.info, wanted)
        if error is not None:
            raise self._refuse(pod, wanted, error)
        return entry

    def _refuse(
        self, pod: Object, claim: claim_infos.ClaimInfo, error: preparations.PreparationError
    ) -> preparations.PreparationError:
        """Journal why the pod cannot use the claim, and return it; no driver was called for it."""
        self._attempt("prepare", _named(pod)).refused([claim], error)
        return error

    # ------------------------------------------------------------------- preparation

    def _is_prepared(self, entry: _Entry) -> bool:
        return entry.prepared

    def _prepare(self, pod: Object, claims: Mapping[str, Object], new: Sequence[_Entry]) -> None:
        """Call each driver of claims once; `claims`: as the API server has them, by name.

        Raises PreparationError for the first driver that fails; what others have prepared stays
        noted, and is prepared again by the next attempt.
        """
        attempt = self._attempt("prepare", _named(pod), new)
        for driver, part in driver_calls.batches([entry.info for entry in new]).items():
            asked = [claims[info.name] for info in part]
            call = functools.partial(self._drivers.plugin(driver, self._node).prepare, asked)
            attempt.ask(part, call, functools.partial(self._note_devices, driver))
        attempt.finish()
        for entry in new:
            entry.prepared, entry.info.is_ending = True, False

    def _note_devices(
        self, driver: str, info: claim_infos.ClaimInfo, devices: preparations.Prepared
    ) -> None:
        info.prepared[driver] = devices

    # ----------------------------------------------------------------- unpreparation

    def _used_by(self, pod_uid: str) -> list[_Entry]:
        with self._guard:
            return list(self._of_pods.get(pod_uid, ()))

    def _leave(self, entry: _Entry, pod_uid: str) -> bool:
        """Remove a pod from a claim's users; return False, and keep it, if it is the last one."""
        with self._guard:
            if len(entry.info.pods) > 1:
                self._forget(entry, pod_uid)
                return True
            return False

    def _unprepare(self, last: Sequence[_Entry], pod_uid: str) -> None:
        """Call each driver of claims once, also of those of which no preparation has succeeded.

        Raises PreparationError for the first driver that fails, or is not registered any more: a
        pod that comes then has the claims prepared again.
        """
        for entry in last:
            entry.info.is_ending = True
        if self._drivers.keeps_endings:
            self._save(last)
        try:
            self._call_unprepare(last, (pod_uid, last[0].info.pods[pod_uid]))
        except BaseException:
            for entry in last:
                entry.prepared = False
            raise
        with self._guard:
            for entry in last:
                del self._entries[entry.info.key]
                entry.gone = True
                for uid in list(entry.info.pods):
                    self._forget(entry, uid)

    def _forget(self, entry: _Entry, pod_uid: str) -> None:
        del entry.info.pods[pod_uid]
        claims = self._of_pods.get(pod_uid, {})
        claims.pop(entry, None)
        if not claims:
            self._of_pods.pop(pod_uid, None)

    def _call_unprepare(self, last: Sequence[_Entry], pod: tuple[str, str]) -> None:
        attempt = self._attempt("unprepare", pod, last)
        for driver, part in driver_calls.batches([entry.info for entry in last]).items():
            try:
                plugin = self._drivers.plugin(driver, self._node)
            except preparations.PreparationError as error:
                attempt.refused(part, error)
                raise
            attempt.ask(part, functools.partial(plugin.unprepare, part))
        attempt.finish()

    # ------------------------------------------------------------------------- both

    def _attempt(
        self,
        call: records.PreparationCall,
        pod: tuple[str, str],
        entries: Sequence[_Entry] = (),
    ) -> driver_calls.Attempt:
        infos = [entry.info for entry in entries]
        return driver_calls.Attempt(call, infos, node=self._node, pod=pod, write=self._write)

    def _save(self, changed: Iterable[_Entry]) -> None:
        with self._guard:
            self._checkpoint.save(entry.info for entry in changed)


def _hold(
    held: contextlib.ExitStack, entries: Sequence[_Entry], is_wanted: Callable[[_Entry], bool]
) -> list[_Entry]:
    """Take the lock of each claim; keep, until the end of `held`, those that are wanted."""
    wanted = set()
    for entry in sorted(entries, key=lambda entry: entry.info.key):
        with contextlib.ExitStack() as taken:
            taken.enter_context(entry.lock)
            if is_wanted(entry):
                held.push(taken.pop_all())
                wanted.add(entry)
    return [entry for entry in entries if entry in wanted]


def _lock(info: claim_infos.ClaimInfo) -> concurrency.Lock:
    return concurrency.lock(f"kubelet.claim.{info.name}")


def _obstacle(
    claim: Object | None, wanted: pod_claims.PodClaim, pod: Object
) -> preparations.PreparationError | None:
    """Return why a pod cannot use a claim, in the kubelet's words; None: it can."""
    meta, name = pod["metadata"], wanted.name
    if name == pod_claims.UNKNOWN_NAME:
        return not_created(pod)
    if claim is None:
        text = f'fetch ResourceClaim {name}: resourceclaims.resource.k8s.io "{name}" not found'
        return preparations.PreparationError("NotFound", text)
    if wanted.generated and not pod_claims.is_for(claim, pod):
        keys = [f"{meta['namespace']}/{one}" for one in (name, meta["name"])]
        text = f"ResourceClaim {keys[0]} was not created for Pod {keys[1]} (Pod is not owner)"
        return preparations.PreparationError("NotOwned", text)
    if not pod_claims.is_reserved(claim, pod):
        who = f"pod {meta['name']} ({meta['uid']})"
        text = f"{who} is not allowed to use ResourceClaim {name} ({claim['metadata']['uid']})"
        return preparations.PreparationError("NotReserved", text)
    if not pod_claims.is_allocated(claim):
        text = f"ResourceClaim {name}: not allocated"
        return preparations.PreparationError("NotAllocated", text)
    return None


def not_created(pod: Object) -> preparations.PreparationError:
    meta = pod["metadata"]
    text = f'pod "{meta["namespace"]}/{meta["name"]}": ResourceClaim not created yet'
    return preparations.PreparationError("NotCreated", text)


def _mismatch(
    known: claim_infos.ClaimInfo, wanted: claim_infos.ClaimInfo
) -> preparations.PreparationError | None:
    if known.uid != wanted.uid:
        return preparations.PreparationError(
            "StillPrepared",
            f"old ResourceClaim with same name {known.name} and different UID {known.uid} still "
            "exists (previous pod force-deleted?!)",
        )
    if known.devices != wanted.devices:
        return preparations.PreparationError(
            "AllocationChanged",
            f"ResourceClaim {known.name} is still prepared with "
            f"{', '.join(known.devices) or 'no device'}",
        )
    return None


def _named(pod: Object) -> tuple[str, str]:
    return pod["metadata"]["uid"], pod["metadata"]["name"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KubeletParts:
    """The parts; the defaults are the correct ones."""

    manager: type[ClaimManager] = ClaimManager
    checkpoint: type[claim_infos.Checkpoint] = claim_infos.Checkpoint
    driver: type[test_drivers.Driver] = test_drivers.Driver
    served: type[served_drivers.ServedDriver] = served_drivers.ServedDriver
    """How the driver answers calls from outside, as a program."""


CORRECT = KubeletParts()
"""No known defect."""
