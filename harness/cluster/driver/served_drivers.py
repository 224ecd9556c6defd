"""The driver as kubelets call it from outside: they only name claims, and repeat calls at any time.

So an Unprepare may overtake a Prepare that is slow. Calls for one claim on a node are handled one
after the other, and a claim is read when it is its turn: a kubelet may be late, and its call about
a claim that is gone, that another one has replaced, or that no pod uses any longer.
"""

import contextlib
import dataclasses
import fcntl
import os
import pathlib
import signal
from collections.abc import Iterable, Iterator, Sequence

from harness import concurrency, errors, writing
from harness.client import apis
from harness.cluster.driver import driver_settings, drivers
from harness.cluster.kubelet_api import preparations
from harness.model.objects import Object

_LOOK_S = 0.02
_KEYS = ("driver", "pool", "device", "shareID")


class MomentActions:
    """Is called at each moment of Prepare and Unprepare. Thread-safe."""

    def __init__(self, settings: driver_settings.LiveSettings, state: pathlib.Path) -> None:
        self._settings, self._state = settings, state
        self._stopped = concurrency.Event("driver.moments")

    def __call__(self, moment: str, claim: str) -> None:
        """Act at a moment, as `prepare.received`, for a claim (`namespace/name`).

        Raises PreparationError on demand.
        """
        name, _, when = moment.partition(".")
        spec: driver_settings.CallSpec = getattr(self._settings.now(), name)
        if not spec.concerns(claim):
            return
        if spec.error and when == "received":
            raise preparations.PreparationError("FailedOnDemand", spec.error)
        if spec.crash_at == when:
            note = self._state / f"crashed-{moment}"
            if not note.exists():
                with writing.explained(note):
                    note.touch()
                os.kill(os.getpid(), signal.SIGKILL)
        while spec.block_at == when and getattr(self._settings.now(), name) is spec:
            if self._stopped.wait(_LOOK_S):
                raise preparations.PreparationError("Stopped", "the driver ends")

    def stop(self) -> None:
        self._stopped.set()


class ServedDriver:
    """Answers the calls of kubelets. Thread-safe."""

    def __init__(
        self,
        driver: drivers.Driver,
        api: apis.Api,
        *,
        at: drivers.Moments,
        lock_file: pathlib.Path | None = None,
        settings: driver_settings.LiveSettings | None = None,
    ) -> None:
        """`lock_file`: another instance of the driver may work with the same state folder.

        `settings` say whether devices are reported in the claims; None: they are not.
        """
        self.driver, self._api, self._at, self._lock_file = driver, api, at, lock_file
        self._settings = settings
        self._changed = concurrency.condition("driver.turns")
        self._taken: set[tuple[str, str]] = set()
        """Node and uid of the claims that a call is about now."""

    def prepare(self, claims: Iterable[preparations.ClaimReference], node: str) -> drivers.Prepared:
        self.driver.wait_to_prepare()
        return {claim.uid: drivers.answer(self._prepare_one, claim, node) for claim in claims}

    def unprepare(
        self, claims: Sequence[preparations.ClaimReference], node: str
    ) -> drivers.Unprepared:
        self.driver.begin_unprepare(claims, node)
        return {claim.uid: drivers.answer(self._unprepare_one, claim, node) for claim in claims}

    def _prepare_one(self, claim: preparations.ClaimReference, node: str) -> preparations.Prepared:
        self._happened("prepare.received", claim)
        with _told(), self._turn(claim, node):
            found = self._read(claim)
            self._happened("prepare.claim-read", claim)
            prepared = self.driver.prepare_claim(found, node)
            self._report(found, node)
        self._happened("prepare.before-answer", claim)
        return prepared

    def _unprepare_one(self, claim: preparations.ClaimReference, node: str) -> None:
        self._happened("unprepare.received", claim)
        with _told(), self._turn(claim, node):
            self.driver.unprepare_claim(claim, node)
        self._happened("unprepare.before-answer", claim)

    def _read(self, claim: preparations.ClaimReference) -> Object:
        """Return the claim of this uid, which is allocated and reserved.

        Raises PreparationError if there is none, or the API server does not answer.
        """
        place = f"claim {claim.namespace}/{claim.name}"
        try:
            found = self._api.get(apis.CLAIMS, claim.name, namespace=claim.namespace)
        except errors.HarnessError as error:
            raise preparations.PreparationError(
                "NotRead", f"cannot read {place}: {error}"
            ) from error
        status, why = found.get("status") or {}, None
        if found["metadata"]["uid"] != claim.uid:
            why = "Replaced", f"was replaced: it does not have the uid {claim.uid} any more"
        elif not status.get("allocation"):
            why = "NotAllocated", "is not allocated"
        elif not status.get("reservedFor"):
            why = "NotReserved", "is reserved for no pod"
        if why is not None:
            raise preparations.PreparationError(why[0], f"{place} {why[1]}")
        return found

    def _report(self, claim: Object, node: str) -> None:
        """Report that the node has prepared the driver's devices, if the settings say so.

        The report is the same each time, so that a second one changes nothing. Raises ApiError and
        TransportError.
        """
        if self._settings is not None and self._settings.now().device_status:
            results = claim["status"]["allocation"]["devices"]["results"]
            keys = [{key: row[key] for key in _KEYS if key in row} for row in results]
            own = {tuple(key.items()): key for key in keys if key["driver"] == self.driver.name}
            entries = [{**key, "data": {"preparedOn": node}} for key in own.values()]
            self._write_status(claim, entries, node)

    def _write_status(self, claim: Object, entries: list[Object], node: str) -> None:
        """Apply the entries, which leaves those of other drivers as they are."""
        meta = claim["metadata"]
        document = {
            "apiVersion": apis.CLAIMS.api_version,
            "kind": "ResourceClaim",
            "metadata": {key: meta[key] for key in ("namespace", "name", "uid")},
            "status": {"devices": entries},
        }
        self._api.patch(
            apis.CLAIMS,
            meta["name"],
            document,
            namespace=meta["namespace"],
            kind=apis.PatchKind.APPLY,
            subresource="status",
            field_manager=f"{self.driver.name}-{node}",
            force=True,
        )

    def _happened(self, moment: str, claim: preparations.ClaimReference) -> None:
        self._at(moment, f"{claim.namespace}/{claim.name}")

    @contextlib.contextmanager
    def _turn(self, claim: preparations.ClaimReference, node: str) -> Iterator[None]:
        """Wait until no other call is about the claim on the node."""
        key = node, claim.uid
        with self._changed:
            while key in self._taken:
                self._changed.wait()
            self._taken.add(key)
        try:
            with self._alone():
                yield
        finally:
            with self._changed:
                self._taken.remove(key)
                self._changed.notify_all()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other instances out, and know what they have done."""
        if self._lock_file is None:
            yield
            return
        with self._lock_file.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.driver.load()
            yield


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """Raise PreparationError for an error of files, which the kubelet gets."""
    try:
        yield
    except errors.HarnessError as error:
        raise preparations.PreparationError("DriverFailed", str(error)) from error


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DriverParts:
    """The parts; the defaults are the correct ones."""

    driver: type[drivers.Driver] = drivers.Driver
    served: type[ServedDriver] = ServedDriver


CORRECT = DriverParts()
"""No known defect."""
