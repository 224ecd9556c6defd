"""Known defects of the kubelet's DRA manager and its checkpoint."""

from collections.abc import Iterable, Sequence
from typing import Any

from harness.cluster.dra import claim_infos, claim_managers, pod_claims
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


class UsedClaimUnprepared(claim_managers.ClaimManager):
    """The end of a pod that was never let in unprepares the claim of another one.

    A pod whose preparation was refused, as the claim is not reserved for it, is not among the users
    of the claim. At its end only the other pods were counted: with one of them left, the claim was
    unprepared. Fixed after 1.36.3 (kubernetes#140212): a pod that is no user leaves it alone.
    """

    facts = replacements.Facts(
        name="used-claim-unprepared",
        check="prepared_devices",
        issues=("kubernetes#140212",),
        releases=replacements.Releases(last="1.36.3", of="the kubelet"),
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
        super().__init__(*arguments, **options)
        self._cached = set(self._entries)

    def _is_prepared(self, entry: Any) -> bool:
        return entry.info.key in self._cached or super()._is_prepared(entry)


class DoubledCdiIds(claim_managers.ClaimManager):
    """A retry notes the devices of a claim a second time (kubernetes#140274, #140471).

    One claim of a pod is prepared and another one is not, or the kubelet is started again: the next
    attempt prepares the first claim once more, and its devices are added to those that are noted
    already. The container runtime gets each CDI id twice, and may refuse the container. Fixed after
    1.36.3: the newest answer of a driver replaces what was noted.
    """

    facts = replacements.Facts(
        name="cdi-ids-doubled",
        check="prepared_containers",
        issues=("kubernetes#140274", "kubernetes#140471"),
        releases=replacements.Releases(last="1.36.3", of="the kubelet"),
        worlds=("claims-of-one-pod",),
    )

    def _note_devices(
        self, driver: str, info: claim_infos.ClaimInfo, devices: preparations.Prepared
    ) -> None:
        super()._note_devices(driver, info, (*info.prepared.get(driver, ()), *devices))


class PreparedClaimEndsLoop(claim_managers.ClaimManager):
    """The claims of a pod after one that is prepared already are not prepared (kubernetes#135919).

    Another pod uses the first claim of the pod, so that it is prepared: the loop over the claims
    returns there instead of going on, and containers do not get the devices of the others. From
    1.34 on; since 1.34.4 and 1.35.1 the loop goes on.
    """

    facts = replacements.Facts(
        name="prepared-claim-ends-loop",
        check="prepared_containers",
        issues=("kubernetes#135901", "kubernetes#135919"),
        releases=replacements.Releases(
            first="1.34", last="1.35", fixed=("1.34.4", "1.35.1"), of="the kubelet"
        ),
        worlds=("claims-of-one-pod",),
    )

    def prepare(self, pod: Object, claims: Iterable[pod_claims.PodClaim]) -> None:
        """Prepare the claims up to the first one that is prepared."""
        chosen: list[pod_claims.PodClaim] = []
        for claim in claims:
            chosen.append(claim)
            entry = self._entries.get(f"{pod['metadata']['namespace']}/{claim.name}")
            if entry is not None and entry.prepared:
                break
        super().prepare(pod, chosen)


class UnregisteredDriverAwaited(claim_managers.ClaimManager):
    """A pod whose driver was never there stays Terminating (kubernetes#131957).

    The claim is noted before it is known that its driver is registered. At the end of the pod the
    kubelet takes it for prepared, and waits for the driver to unprepare it, which may never come.
    Fixed in 1.34: what could not be prepared for want of a driver is not noted.
    """

    facts = replacements.Facts(
        name="unregistered-driver-awaited",
        check="claim_progress",
        issues=("kubernetes#131957",),
        releases=replacements.Releases(last="1.33", of="the kubelet"),
        worlds=("driver-not-registered",),
    )

    def _require_drivers(self, pod: Object, claim: Object) -> None:
        del pod, claim


class OldClaimUsed(claim_managers.ClaimManager):
    """A claim of the same name is taken for one that is still prepared (kubernetes#131513).

    A pod that was deleted with a grace period of zero is gone from the API before its claim is
    unprepared. The claim that is made again for the next pod of that name has another uid: the pod
    used what was prepared for the old one, until that was unprepared under its feet. Fixed in 1.34:
    the uid is compared, and the pod waits.
    """

    facts = replacements.Facts(
        name="old-claim-used",
        check="prepared_containers",
        issues=("kubernetes#131513", "kubernetes#131617"),
        releases=replacements.Releases(last="1.33", of="the kubelet"),
        worlds=("claim-made-again",),
    )

    def _find(self, claim: Object, pod: Object) -> Any:
        entry = self._entries.get(claim_infos.of(claim).key)
        return super()._find(claim, pod) if entry is None else entry


class UnnamedClaimStopsUnprepare(claim_managers.ClaimManager):
    """A pod whose status does not name its claim stays Terminating (kubernetes#139772).

    The claim of a template was not made before the pod was deleted, and is not made after that; or
    a client from before DRA has dropped the name (kubernetes#139876). At the end of the pod the
    kubelet asks the pod's status for the names of its claims, fails with "ResourceClaim not created
    yet", and repeats that for ever. As in each kubelet from 1.34.2 to 1.36.3 that was tried. The
    correct kubelet ends what it has noted for the pod.
    """

    facts = replacements.Facts(
        name="unnamed-claim-stops-unprepare",
        check="claim_progress",
        issues=("kubernetes#139772", "kubernetes#139876"),
        releases=replacements.Releases(last="1.36.3", is_open=True, of="the kubelet"),
        worlds=("claim-not-named",),
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Start without any pod."""
        super().__init__(*arguments, **options)
        self._unnamed: dict[str, Object] = {}
        """uid of a pod -> the pod, whose status does not name one of its claims."""

    def prepare(self, pod: Object, claims: Iterable[pod_claims.PodClaim]) -> None:
        uid, known = pod["metadata"]["uid"], list(claims)
        if any(claim.name == pod_claims.UNKNOWN_NAME for claim in known):
            self._unnamed[uid] = pod
        else:
            self._unnamed.pop(uid, None)
        super().prepare(pod, known)

    def unprepare(self, pod_uid: str, pod: Object | None = None) -> None:
        """Refuse a pod that has a claim without a name."""
        unnamed = self._unnamed.get(pod_uid)
        if pod is not None:
            names = [claim.name for claim in pod_claims.of(pod)]
            unnamed = pod if pod_claims.UNKNOWN_NAME in names else None
        if unnamed is not None:
            raise claim_managers.not_created(unnamed)
        super().unprepare(pod_uid, pod)
