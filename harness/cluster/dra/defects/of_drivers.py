"""Known defects of drivers, in our test driver: in the process of the kubelets or as a program."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from harness.client import apis
from harness.cluster.driver import drivers, prepared_claims, served_drivers
from harness.cluster.kubelet_api import preparations
from harness.extensions import replacements
from harness.model.objects import Object


class ReleasedFirst(drivers.Driver):
    """A driver gives the devices of a claim free before it has unprepared them.

    Another claim is prepared with the devices while the first one is still being unprepared, as
    was possible in kubernetes#140527. The correct driver gives them free at the end of the call.
    """

    facts = replacements.Facts(
        name="driver-released-first",
        check="prepared_devices",
        issues=("kubernetes#140527",),
        releases=replacements.Releases(last="1.36.3", is_open=True, of="the kubelet"),
        worlds=("prepare-against-unprepare",),
    )

    def begin_unprepare(self, claims: Sequence[preparations.ClaimReference], node: str) -> None:
        """Give the devices free, then wait."""
        for claim in claims:
            known = self._claims.find(node, claim.uid)
            if known is not None:
                self._give_back(known)
        super().begin_unprepare(claims, node)


class StaleParameters(drivers.Driver):
    """A driver gives containers the parameters of the claim that had the device before.

    The driver keeps what it has computed for a device and does not compare the claim. The correct
    driver computes the environment from the allocation of the claim that it prepares.
    """

    facts = replacements.Facts(
        name="driver-stale-parameters",
        check="container_parameters",
        worlds=("prepare-against-unprepare",),
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Start without knowledge of any device."""
        super().__init__(*arguments, **options)
        self._first_configs: dict[tuple[str, str], Sequence[Any]] = {}
        """Pool and device -> configuration of the first claim that had it."""

    def _configured(self, claim: Object) -> Object:
        first = claim["status"]["allocation"]["devices"]["results"][0]
        with self._guard:
            device = first["pool"], first["device"]
            known = self._first_configs.setdefault(device, _config(claim))
        return _with_config(claim, known)


class HeldDevicePrepared(drivers.Driver):
    """A driver prepares a device that another claim still holds (kubernetes#141471).

    A pod was deleted by force, or its node was lost, and the API gave its device to another claim
    while its containers still ran. Neither API server nor kubelet prevents that: the driver is the
    last line of defence (kubernetes#141479), and many do not check. The correct driver refuses the
    device until it is unprepared.
    """

    facts = replacements.Facts(
        name="held-device-prepared",
        check="prepared_devices",
        issues=("kubernetes#141471",),
        releases=replacements.Releases(words="drivers that do not check"),
        worlds=("prepare-against-unprepare",),
    )

    def _require_free(self, claim: prepared_claims.PreparedClaim) -> None:
        del claim


class CdiFilesNotRestored(drivers.Driver):
    """A driver names devices whose CDI files a reboot has removed (kubernetes#141433).

    `/var/run/cdi` is in memory, the checkpoint of the driver is not: it says that the claim is
    prepared, and Prepare returns what it has answered before. No container of the pod starts, and
    nothing ever mends that (ROCm/k8s-gpu-dra-driver#75, dra-example-driver#259). The correct driver
    writes the files again, when it starts and when it is asked to prepare.
    """

    facts = replacements.Facts(
        name="cdi-files-not-restored",
        check="prepared_containers",
        issues=(
            "kubernetes#141433",
            "k8s-gpu-dra-driver#75",
            "dra-example-driver#259",
            "dra-driver-nvidia-gpu#951",
        ),
        releases=replacements.Releases(words="drivers that return what their checkpoint has"),
    )

    def prepare_claim(self, claim: Object, node: str) -> preparations.Prepared:
        """Return what the checkpoint has."""
        known = self._claims.find(node, claim["metadata"]["uid"])
        return super().prepare_claim(claim, node) if known is None else known.devices

    def recover(self) -> list[str]:
        """Note the claims of the state folder."""
        self.load()
        return []

    def _was_prepared(self, claim: prepared_claims.PreparedClaim) -> bool:
        del claim
        return True


class StartedClaimKept(drivers.Driver):
    """A claim whose preparation has failed stays in the records (dra-driver-nvidia-gpu#840).

    It is written down as started, then the preparation fails. Unprepare does nothing for a claim
    that has only started, and leaves it there: the records grow, and the device is never free
    again. The correct driver undoes what it has begun.
    """

    facts = replacements.Facts(
        name="started-claim-kept",
        check="leftover_preparations",
        issues=("dra-driver-nvidia-gpu#840",),
        releases=replacements.Releases(
            words="drivers that note when they start and do not undo it"
        ),
        worlds=("failed-preparation",),
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Start without claims that have started."""
        super().__init__(*arguments, **options)
        self._started: dict[tuple[str, str], prepared_claims.PreparedClaim] = {}
        """Node and uid -> the claim."""

    def load(self) -> Sequence[prepared_claims.PreparedClaim]:
        """Read the state folder again, and keep the claims that have started."""
        claims = super().load()
        with self._guard:
            for claim in self._started.values():
                self._note(claim)
        return claims

    def prepare_claim(self, claim: Object, node: str) -> preparations.Prepared:
        wanted = prepared_claims.of(claim, driver=self.name, node=node)
        self._take(wanted)
        self._started[node, wanted.uid] = wanted
        prepared = super().prepare_claim(claim, node)
        del self._started[node, wanted.uid]
        return prepared

    def unprepare_claim(self, claim: preparations.ClaimReference, node: str) -> None:
        """Unprepare a claim that has not only started."""
        if (node, claim.uid) not in self._started:
            super().unprepare_claim(claim, node)

    def _give_back(self, claim: prepared_claims.PreparedClaim) -> None:
        if (claim.node, claim.uid) not in self._started:
            super()._give_back(claim)


class PreparedClaimStartedAgain(drivers.Driver):
    """A second Prepare of a claim makes it one that has only started (dra-driver-nvidia-gpu#729).

    The kubelet prepares a claim again after an error of another one, and after a restart. The
    driver forgets that it was done, and Unprepare then fails for ever: the pod stays Terminating.
    The correct driver sees first that the claim is prepared.
    """

    facts = replacements.Facts(
        name="prepared-claim-started-again",
        check="claim_progress",
        issues=("dra-driver-nvidia-gpu#729", "dra-driver-nvidia-gpu#782"),
        releases=replacements.Releases(words="dra-driver-nvidia-gpu before #754"),
        worlds=("claims-of-one-pod",),
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Start without claims that were prepared twice."""
        super().__init__(*arguments, **options)
        self._regressed: set[tuple[str, str]] = set()

    def prepare_claim(self, claim: Object, node: str) -> preparations.Prepared:
        """Prepare a claim, and note if that was done before."""
        key = node, claim["metadata"]["uid"]
        if self._claims.find(*key) is not None:
            self._regressed.add(key)
        return super().prepare_claim(claim, node)

    def unprepare_claim(self, claim: preparations.ClaimReference, node: str) -> None:
        if (node, claim.uid) in self._regressed:
            raise preparations.PreparationError("NotPrepared", "the claim has only started")
        super().unprepare_claim(claim, node)


class LatePrepareGoesOn(served_drivers.ServedDriver):
    """A Prepare that has read its claim goes on after Unprepare (dra-driver-nvidia-gpu#1162).

    The call has long been given up by the kubelet, but the driver retries by itself. The pod is
    deleted, its claim is unprepared, and then the late call succeeds and notes the claim as
    prepared: the device is in use for a claim that is gone. The correct driver reads the claim when
    no other call is about it.
    """

    facts = replacements.Facts(
        name="late-prepare-goes-on",
        check="claim_progress",
        issues=("dra-driver-nvidia-gpu#1162", "dra-driver-nvidia-gpu#1188"),
        releases=replacements.Releases(words="dra-driver-nvidia-gpu before #1188"),
        worlds=("late-prepare",),
    )

    def _prepare_one(self, claim: preparations.ClaimReference, node: str) -> preparations.Prepared:
        found = self._reader.read(claim)
        self._happened("prepare.claim-read", claim)
        with self._turn(claim, node):
            return self.driver.prepare_claim(found, node)


class DeviceStatusOverwritten(served_drivers.ServedDriver):
    """A driver writes `status.devices` of a claim as a whole (dra-example-driver#266, dranet#117).

    The claim has devices of several drivers, and each reports on its own: the last one that writes
    removes the network address that another one has published. The correct driver applies its own
    entries. With this defect it reports without being asked to.
    """

    facts = replacements.Facts(
        name="device-status-overwritten",
        check="device_statuses",
        issues=("dra-example-driver#266", "dranet#117"),
        releases=replacements.Releases(words="drivers that write the whole list"),
    )

    def _report(self, claim: Object, node: str) -> None:
        if self._statuses is not None:
            entries = served_drivers.status_entries(claim, self.driver.name, node)
            patch = {"status": {"devices": entries}}
            self._statuses.write(claim, patch, kind=apis.PatchKind.MERGE)


class EmptyCdiFiles(drivers.Driver):
    """A driver writes CDI devices that give containers nothing (dra-driver-nvidia-gpu#1144, #1380).

    Its view of the host is not complete, or not true any more. Prepare succeeds, and
    the container starts without its device. The correct driver fails instead.
    """

    facts = replacements.Facts(
        name="cdi-files-empty",
        check="container_parameters",
        issues=("dra-driver-nvidia-gpu#1144", "dra-driver-nvidia-gpu#1380"),
        releases=replacements.Releases(words="drivers that keep an old view of their host"),
        worlds=("prepare-against-unprepare",),
    )

    def _configured(self, claim: Object) -> Object:
        return _with_config(claim, [])

    def _configure(self, claim: prepared_claims.PreparedClaim) -> None:
        nothing: dict[str, dict[str, str]] = {name: {} for name in claim.environments}
        super()._configure(replace(claim, environments=nothing))


class OwnDeviceRefused(drivers.Driver):
    """A driver refuses a claim because of the devices that the claim has itself.

    Prepare is not idempotent: a second one finds the devices in use, and does not see by whom
    (dra-driver-cpu#175). The kubelet repeats it for ever, and the pod never starts. The correct
    driver gives a prepared claim the same answer again.
    """

    facts = replacements.Facts(
        name="own-device-refused",
        check="claim_progress",
        issues=("dra-driver-cpu#175", "dra-driver-cpu#169"),
        releases=replacements.Releases(words="drivers that are not idempotent"),
        worlds=("claims-of-one-pod",),
    )

    def _is_known(self, wanted: prepared_claims.PreparedClaim) -> bool:
        if super()._is_known(wanted):
            raise preparations.PreparationError(
                "DeviceHeld", f"device {min(wanted.exclusive, default='')} is in use"
            )
        return False


def _config(claim: Object) -> Sequence[Any]:
    found: Sequence[Any] = claim["status"]["allocation"]["devices"].get("config") or ()
    return found


def _with_config(claim: Object, config: Sequence[Any]) -> Object:
    allocation = claim["status"]["allocation"]
    devices = {**allocation["devices"], "config": config}
    return {**claim, "status": {"allocation": {**allocation, "devices": devices}}}
