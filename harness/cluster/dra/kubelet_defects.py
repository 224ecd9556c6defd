"""Known defects of the kubelet and its driver: classes that override one method of correct code.

Each docstring says what is wrong, where it comes from, and what the correct code does.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from harness import errors
from harness.cluster.dra import claim_infos, claim_managers, pod_claims
from harness.cluster.driver import driver_parts as parts_of_driver
from harness.cluster.driver import drivers, prepared_claims
from harness.cluster.kubelet_api import preparations
from harness.extensions import replacements
from harness.model.objects import Object


class ForgottenClaims(claim_infos.Checkpoint):
    """A kubelet that was started again does not know which claims are prepared.

    The containers of the pods before still use the devices, and the driver prepares them for other
    claims. As a kubelet whose checkpoint was removed with its state folder, and as drivers that
    keep what they have prepared only in memory (kubernetes-sigs/dra-driver-nvidia-gpu#642). The
    correct kubelet reads its checkpoint, and the driver refuses a device until it is unprepared.
    """

    facts = replacements.Facts(
        name="kubelet-forgets-claims",
        check="prepared_devices",
        issues=("dra-driver-nvidia-gpu#642",),
        releases=replacements.Releases(words="drivers that keep prepared claims in memory only"),
        worlds=("kubelet-restarted",),
    )

    def load(self) -> list[claim_infos.ClaimInfo]:
        """Return nothing."""
        return []


class ReleasedFirst(drivers.Driver):
    """A driver gives the devices of a claim free before it has unprepared them.

    Another claim is prepared with the devices while the first one is still being unprepared, as
    was possible in kubernetes#140527. The correct driver gives them free at the end of the call.
    """

    facts = replacements.Facts(
        name="driver-released-first",
        check="prepared_devices",
        issues=("kubernetes#140527",),
        releases=replacements.Releases(last="1.36.2", is_open=True, of="the kubelet"),
        worlds=("prepare-against-unprepare",),
    )

    def unprepare(
        self, claims: Sequence[preparations.ClaimReference], node: str
    ) -> drivers.Unprepared:
        """Give the devices free, then unprepare the claims."""
        for claim in claims:
            known = self._claims.find(node, claim.uid)
            if known is not None:
                self._give_back(known)
        return super().unprepare(claims, node)


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


class UsedClaimUnprepared(claim_managers.ClaimManager):
    """The end of a pod that was never let in unprepares the claim of another one.

    A pod whose preparation was refused, as the claim is not reserved for it, is not among the users
    of the claim. At its end only the other pods were counted: with one of them left, the claim was
    unprepared. Fixed after 1.36.2 (kubernetes#140212): a pod that is no user leaves it alone.
    """

    facts = replacements.Facts(
        name="used-claim-unprepared",
        check="prepared_devices",
        issues=("kubernetes#140212",),
        releases=replacements.Releases(last="1.36.2", of="the kubelet"),
        worlds=("refused-pod-ends",),
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Start without any refused pod."""
        super().__init__(*arguments, **options)
        self._refused: dict[str, str] = {}
        """uid of a pod -> key of the claim."""

    def _read(self, pod: Object, claim: pod_claims.PodClaim) -> Object:
        meta = pod["metadata"]
        self._refused[meta["uid"]] = f"{meta['namespace']}/{claim.name}"
        found = super()._read(pod, claim)
        del self._refused[meta["uid"]]
        return found

    def _used_by(self, pod_uid: str) -> list[Any]:
        entry = self._entries.get(self._refused.get(pod_uid, ""))
        named = [] if entry is None else [entry]
        return [*named, *super()._used_by(pod_uid)]

    def _leave(self, entry: Any, pod_uid: str) -> bool:
        if pod_uid in entry.info.pods:
            return super()._leave(entry, pod_uid)
        return entry.gone or len(entry.info.pods) != 1

    def _unprepare(self, last: Sequence[Any], pod_uid: str) -> None:
        for entry in last:
            entry.info.pods.setdefault(pod_uid, "")
        super()._unprepare(last, pod_uid)


class CachedClaimNotPrepared(claim_managers.ClaimManager):
    """A claim of the checkpoint counts as prepared: the driver is not called (kubernetes#120550).

    After a reboot of the node the devices are not prepared any more, and the pods start without
    them. Up to 1.28; since then the kubelet calls the driver for each claim that it has not
    prepared itself since its start.
    """

    facts = replacements.Facts(
        name="cached-claim-not-prepared",
        check="prepared_containers",
        issues=("kubernetes#120550",),
        releases=replacements.Releases(last="1.28", of="the kubelet"),
        worlds=("node-rebooted",),
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Remember the claims of the checkpoint."""
        super().__init__(*arguments, **options)
        self._cached = set(self._entries)

    def _is_prepared(self, entry: Any) -> bool:
        return entry.info.key in self._cached or super()._is_prepared(entry)


def _config(claim: Object) -> Sequence[Any]:
    found: Sequence[Any] = claim["status"]["allocation"]["devices"].get("config") or ()
    return found


def _with_config(claim: Object, config: Sequence[Any]) -> Object:
    """Return the claim with another configuration in its allocation."""
    allocation = claim["status"]["allocation"]
    devices = {**allocation["devices"], "config": config}
    return {**claim, "status": {"allocation": {**allocation, "devices": devices}}}


CATALOGUE = replacements.Catalogue(
    "defect of the kubelet", "defects", __name__, {"kubelet": claim_managers.KubeletParts}
)
"""The known defects by name."""


def is_of_driver(name: str) -> bool:
    """Return whether a defect is one of the driver. Raises UsageError for an unknown name."""
    return CATALOGUE.named(name).part == "driver"


def parts(chosen: Iterable[str] = ()) -> claim_managers.KubeletParts:
    """Return the parts with these defects.

    Raises UsageError for an unknown name, and for two defects that override the same method.
    """
    return replacements.replaced(claim_managers.CORRECT, CATALOGUE.chosen(chosen))


def driver_parts(chosen: Iterable[str]) -> parts_of_driver.DriverParts:
    """Return the parts of the driver as a program with these defects.

    Raises UsageError for an unknown name, one of the kubelet, and for two defects that override
    the same method.
    """
    known = [name for name in CATALOGUE.names() if is_of_driver(name)]
    for name in chosen:
        if not is_of_driver(name):
            raise errors.UsageError(
                f"expected a defect of the driver, got {name!r}, which is one of the kubelet. "
                f"Known ones: {', '.join(known)}"
            )
    return parts_of_driver.DriverParts(driver=parts(chosen).driver)
