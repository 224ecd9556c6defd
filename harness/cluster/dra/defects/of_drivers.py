"""Known defects of drivers, in our test driver: in the process of the kubelets or as a program."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from harness.client import apis
from harness.cluster.driver import drivers, prepared_claims, served_drivers
from harness.cluster.kubelet_api import preparations
from harness.extensions import replacements
from harness.model.objects import Object


@replacements.known_as("driver-released-first")
class ReleasedFirst(drivers.Driver):
    def begin_unprepare(self, claims: Sequence[preparations.ClaimReference], node: str) -> None:
        for claim in claims:
            known = self._claims.find(node, claim.uid)
            if known is not None:
                self._give_back(known)
        super().begin_unprepare(claims, node)


@replacements.known_as("driver-stale-parameters")
class StaleParameters(drivers.Driver):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._first_configs: dict[tuple[str, str], Sequence[Any]] = {}
        """Pool and device -> configuration of the first claim that had it."""

    def _configured(self, claim: Object) -> Object:
        first = claim["status"]["allocation"]["devices"]["results"][0]
        with self._guard:
            device = first["pool"], first["device"]
            known = self._first_configs.setdefault(device, _config(claim))
        return _with_config(claim, known)


@replacements.known_as("held-device-prepared")
class HeldDevicePrepared(drivers.Driver):
    def _require_free(self, claim: prepared_claims.PreparedClaim) -> None:
        del claim


@replacements.known_as("cdi-files-not-restored")
class CdiFilesNotRestored(drivers.Driver):
    def prepare_claim(self, claim: Object, node: str) -> preparations.Prepared:
        known = self._claims.find(node, claim["metadata"]["uid"])
        return super().prepare_claim(claim, node) if known is None else known.devices

    def recover(self) -> list[str]:
        self.load()
        return []

    def _was_prepared(self, claim: prepared_claims.PreparedClaim) -> bool:
        del claim
        return True


@replacements.known_as("started-claim-kept")
class StartedClaimKept(drivers.Driver):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._started: dict[tuple[str, str], prepared_claims.PreparedClaim] = {}
        """Node and uid -> the claim."""

    def load(self) -> Sequence[prepared_claims.PreparedClaim]:
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
        if (node, claim.uid) not in self._started:
            super().unprepare_claim(claim, node)

    def _give_back(self, claim: prepared_claims.PreparedClaim) -> None:
        if (claim.node, claim.uid) not in self._started:
            super()._give_back(claim)


@replacements.known_as("prepared-claim-started-again")
class PreparedClaimStartedAgain(drivers.Driver):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._regressed: set[tuple[str, str]] = set()

    def prepare_claim(self, claim: Object, node: str) -> preparations.Prepared:
        key = node, claim["metadata"]["uid"]
        if self._claims.find(*key) is not None:
            self._regressed.add(key)
        return super().prepare_claim(claim, node)

    def unprepare_claim(self, claim: preparations.ClaimReference, node: str) -> None:
        if (node, claim.uid) in self._regressed:
            raise preparations.PreparationError("NotPrepared", "the claim has only started")
        super().unprepare_claim(claim, node)


@replacements.known_as("late-prepare-goes-on")
class LatePrepareGoesOn(served_drivers.ServedDriver):
    def _prepare_one(self, claim: preparations.ClaimReference, node: str) -> preparations.Prepared:
        found = self._read(claim)
        self._happened("prepare.claim-read", claim)
        with self._turn(claim, node):
            return self.driver.prepare_claim(found, node)


@replacements.known_as("device-status-overwritten")
class DeviceStatusOverwritten(served_drivers.ServedDriver):
    def _write_status(self, claim: Object, entries: list[Object], node: str) -> None:
        del node
        meta, patch = claim["metadata"], {"status": {"devices": entries}}
        self._api.patch(
            apis.CLAIMS, meta["name"], patch, namespace=meta["namespace"], subresource="status"
        )


@replacements.known_as("cdi-files-empty")
class EmptyCdiFiles(drivers.Driver):
    def _configured(self, claim: Object) -> Object:
        return _with_config(claim, [])

    def _configure(self, claim: prepared_claims.PreparedClaim) -> None:
        nothing: dict[str, dict[str, str]] = {name: {} for name in claim.environments}
        super()._configure(replace(claim, environments=nothing))


@replacements.known_as("own-device-refused")
class OwnDeviceRefused(drivers.Driver):
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
