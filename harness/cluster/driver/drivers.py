"""The DRA test driver: prepares claims on nodes, and misbehaves on demand.

One driver serves all nodes, so that it also knows the users of a device that is attached by a
network. Its caller reads the claims, and handles one claim on a node at a time: a kubelet in the
same process does so anyway, and `served_drivers` does it for kubelets behind sockets.
"""

import contextlib
import pathlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from harness import concurrency, errors, seeds
from harness.cluster.driver import cdi_files, prepared_claims
from harness.cluster.kubelet_api import node_folders, preparations
from harness.model.objects import Object
from harness.scenario import driver_specs

Prepared = dict[str, preparations.Prepared | preparations.PreparationError]
"""uid of a claim -> its devices, or why it is not prepared."""
Unprepared = dict[str, preparations.PreparationError | None]
"""uid of a claim -> None, or why it is not unprepared."""
A = TypeVar("A")
Moments = Callable[[str, str], None]
"""Is told what has just happened, as `prepare.cdi-written`, to which claim (`namespace/name`)."""


class DriverFiles(NamedTuple):
    """Folders, with `{node}` in them for one folder a node; empty: nothing is written."""

    cdi: str = ""
    """For CDI files."""
    state: str = ""
    """For what a restart needs to know: the prepared claims."""


NOWHERE = DriverFiles()
"""Nothing is written."""


class Driver:
    """Prepares and unprepares claims of one driver's name on any node.

    Thread-safe, but a claim is handled by one thread at a time on a node.
    """

    def __init__(
        self,
        spec: driver_specs.DriverSpec,
        *,
        name: str,
        files: DriverFiles = NOWHERE,
        seed: int = 0,
        at: Moments = lambda *_: None,
    ) -> None:
        """Know of no claims; `restore` and `recover` tell of those of an earlier process."""
        self.name, self._spec, self._cdi, self._at = name, spec, files.cdi, at
        self._guard = concurrency.lock("driver.holders")
        self._holders: dict[str, set[tuple[str, str]]] = {}
        """Device or share -> uids of the claims that use it alone, each with the node."""
        self._claims = prepared_claims.PreparedClaims(name, files.state)
        self.edits: dict[tuple[str, str], dict[str, str]] = {}
        """Node and id of a CDI device -> the environment that it gives, if there are no files."""
        self._stopped = concurrency.Event("driver.stopped")
        self._started_s = concurrency.monotonic_s()
        stream = seeds.Seeds(seed).stream
        self._dice = {name: stream("driver", name) for name in ("prepare", "unprepare")}

    def prepare(self, claims: Iterable[Object], node: str) -> Prepared:
        """Prepare allocated claims on a node, as the API server has them.

        A claim that is prepared already stays so. One is refused if another claim holds one of its
        devices, if its parameters cannot be understood, or on demand.
        """
        self.wait_to_prepare()
        return {
            claim["metadata"]["uid"]: answer(self.prepare_claim, claim, node) for claim in claims
        }

    def unprepare(self, claims: Sequence[preparations.ClaimReference], node: str) -> Unprepared:
        """Unprepare claims on a node; one that is not prepared stays so."""
        self.begin_unprepare(claims, node)
        return {claim.uid: answer(self.unprepare_claim, claim, node) for claim in claims}

    def prepare_claim(self, claim: Object, node: str) -> preparations.Prepared:
        """Prepare one claim, without waiting first; return its devices.

        Raises PreparationError if it cannot be prepared, StorageError or UnwritableError if a file
        cannot be written.
        """
        wanted = prepared_claims.of(self._configured(claim), driver=self.name, node=node)
        self._fail("prepare", self._spec.prepare)
        if self._is_known(wanted):
            self._configure(wanted)
        else:
            self._prepare_new(wanted)
        return wanted.devices

    def unprepare_claim(self, claim: preparations.ClaimReference, node: str) -> None:
        """Unprepare one claim, without waiting first.

        Raises PreparationError on demand, StorageError or UnwritableError if a file stays.
        """
        self._fail("unprepare", self._spec.unprepare)
        known = self._claims.find(node, claim.uid)
        if known is not None:
            self._forget(known)
        elif self._claims.path(node, claim.uid) in self._claims.damaged:
            folder = self._cdi_folder(node)
            if folder is not None:
                cdi_files.remove(folder, self.name, claim.uid)
            self._claims.remove(node, claim.uid)

    def restore(self, claim: prepared_claims.PreparedClaim) -> bool:
        """Note a claim that an earlier process has prepared; return False if it has not.

        This is for a kubelet in the same process, which knows it by its checkpoint.
        """
        if not self._was_prepared(claim):
            return False
        self._claims.add(claim)
        with self._guard:
            self._note(claim)
        return True

    def recover(self) -> list[str]:
        """Note the claims of the state folder, and write their CDI files again.

        Return what is damaged, in a sentence each. Raises StorageError or UnwritableError if a CDI
        file cannot be written.
        """
        for claim in self.load():
            self._configure(claim)
        return [
            f"{path}: expected a claim that was prepared ({why}): other claims get no devices "
            "until it is unprepared, or the file removed"
            for path, why in self._claims.damaged.items()
        ]

    def load(self) -> Sequence[prepared_claims.PreparedClaim]:
        """Read the state folder again, after another process may have changed it."""
        claims = self._claims.load()
        with self._guard:
            self._holders = {}
            for claim in claims:
                self._note(claim)
        return claims

    def change(self, spec: driver_specs.DriverSpec) -> None:
        self._spec = spec

    def wait_to_prepare(self) -> None:
        self._wait(self._spec.prepare)

    def begin_unprepare(self, claims: Sequence[preparations.ClaimReference], node: str) -> None:
        """Wait as long as the settings say, before claims are unprepared on a node."""
        del claims, node
        self._wait(self._spec.unprepare)

    def _wait(self, call: driver_specs.CallSpec) -> None:
        left_s = call.delay_s
        if call.blocked_from_s is not None:
            left_s += self._left_s(call.blocked_from_s, call.blocked_s)
        if left_s > 0:
            self._stopped.wait(left_s)

    def _fail(self, name: str, call: driver_specs.CallSpec) -> None:
        """Raise PreparationError as often as the settings say."""
        start_s = call.failing_from_s
        if start_s is not None and self._left_s(start_s, call.failing_s):
            raise preparations.PreparationError("FailedForATime", "the driver fails for a time")
        if call.failure_probability:
            with self._guard:
                fails = self._dice[name].random() < call.failure_probability
            if fails:
                raise preparations.PreparationError("FailedOnDemand", "the driver fails on demand")

    def _left_s(self, start_s: float, lasts_s: float) -> float:
        """Return the seconds that are left of a time since the start; 0: it is not now."""
        since_s = concurrency.monotonic_s() - self._started_s - start_s
        return lasts_s - since_s if 0 <= since_s < lasts_s else 0.0

    def stop(self) -> None:
        self._stopped.set()

    def _configured(self, claim: Object) -> Object:
        return claim

    def _is_known(self, wanted: prepared_claims.PreparedClaim) -> bool:
        """Return whether the claim is prepared already.

        Raises PreparationError if it is, with other devices.
        """
        known = self._claims.find(wanted.node, wanted.uid)
        if known is not None and known.exclusive != wanted.exclusive:
            raise preparations.PreparationError(
                "AllocationChanged",
                f"the claim is still prepared with {_listed(known)}, not {_listed(wanted)}",
            )
        return known is not None

    def _was_prepared(self, claim: prepared_claims.PreparedClaim) -> bool:
        return bool(claim.devices)

    def _prepare_new(self, claim: prepared_claims.PreparedClaim) -> None:
        """Take the devices, remember the claim, then let containers find the devices."""
        self._take(claim)
        try:
            self._happened("prepare.before-checkpoint", claim)
            self._claims.add(claim)
            self._happened("prepare.checkpoint-written", claim)
            self._configure(claim)
            self._happened("prepare.cdi-written", claim)
        except BaseException:
            with contextlib.suppress(errors.HarnessError):  # the first error is the one to tell
                self._unconfigure(claim)
            with contextlib.suppress(errors.HarnessError):
                self._claims.remove(claim.node, claim.uid)
            self._give_back(claim)
            raise

    def _forget(self, claim: prepared_claims.PreparedClaim) -> None:
        """Undo a preparation; the devices are free at the end of it."""
        self._unconfigure(claim)
        self._happened("unprepare.cdi-removed", claim)
        self._claims.remove(claim.node, claim.uid)
        self._happened("unprepare.checkpoint-removed", claim)
        self._give_back(claim)

    def _configure(self, claim: prepared_claims.PreparedClaim) -> None:
        """Let the containers on the node find the devices, and their parameters."""
        folder = self._cdi_folder(claim.node)
        if folder is not None:
            cdi_files.write(folder, self.name, claim.uid, claim.environments)
            return
        for device in claim.devices:
            for one in device.cdi_device_ids:
                self.edits[claim.node, one] = claim.environments[device.request_names[0]]

    def _unconfigure(self, claim: prepared_claims.PreparedClaim) -> None:
        """Let no container find the devices any longer."""
        folder = self._cdi_folder(claim.node)
        if folder is not None:
            cdi_files.remove(folder, self.name, claim.uid, claim.environments)
        for device in claim.devices:
            for one in device.cdi_device_ids:
                self.edits.pop((claim.node, one), None)

    def _cdi_folder(self, node: str) -> pathlib.Path | None:
        return node_folders.of_node(self._cdi, node) if self._cdi else None

    def _happened(self, moment: str, claim: prepared_claims.PreparedClaim) -> None:
        self._at(moment, f"{claim.namespace}/{claim.name}")

    def _take(self, claim: prepared_claims.PreparedClaim) -> None:
        """Take the devices of a claim. Raises PreparationError if another claim has one."""
        with self._guard:
            if self._spec.exclusivity:
                others = {path for path in self._claims.damaged if path.stem != claim.uid}
                if others and claim.exclusive:  # which devices another claim has is not known
                    raise preparations.PreparationError(
                        "DamagedCheckpoint",
                        f"{min(others)} is damaged: no device can be prepared until that claim is "
                        "unprepared, or the file removed",
                    )
                self._require_free(claim)
            self._note(claim)

    def _require_free(self, claim: prepared_claims.PreparedClaim) -> None:
        for device in sorted(claim.taken):
            others = {uid for uid, _ in self._holders.get(device, ())} - {claim.uid}
            if others:
                raise preparations.PreparationError(
                    "DeviceHeld", f"device {device} is prepared for claim {min(others)}"
                )

    def _note(self, claim: prepared_claims.PreparedClaim) -> None:
        for device in claim.taken:
            self._holders.setdefault(device, set()).add((claim.uid, claim.node))

    def _give_back(self, claim: prepared_claims.PreparedClaim) -> None:
        with self._guard:
            for device in claim.taken:
                holders = self._holders.get(device, set())
                holders.discard((claim.uid, claim.node))
                if not holders:
                    self._holders.pop(device, None)


def answer(call: Callable[..., A], *arguments: object) -> A | preparations.PreparationError:
    try:
        return call(*arguments)
    except preparations.PreparationError as error:
        return error


def _listed(claim: prepared_claims.PreparedClaim) -> str:
    return ", ".join(sorted(claim.exclusive)) or "no device"
