"""Known defects of the kubelet's DRA manager and its checkpoint."""

from collections.abc import Iterable, Sequence
from typing import Any

from harness.cluster.dra import claim_infos, claim_managers, pod_claims
from harness.cluster.kubelet_api import preparations
from harness.extensions import replacements
from harness.model.objects import Object


@replacements.known_as("kubelet-forgets-claims")
class ForgottenClaims(claim_infos.Checkpoint):
    def load(self) -> list[claim_infos.ClaimInfo]:
        return []


@replacements.known_as("used-claim-unprepared")
class UsedClaimUnprepared(claim_managers.ClaimManager):
    def __init__(self, *arguments: Any, **options: Any) -> None:
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


@replacements.known_as("cached-claim-not-prepared")
class CachedClaimNotPrepared(claim_managers.ClaimManager):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._cached = set(self._entries)

    def _is_prepared(self, entry: Any) -> bool:
        return entry.info.key in self._cached or super()._is_prepared(entry)


@replacements.known_as("cdi-ids-doubled")
class DoubledCdiIds(claim_managers.ClaimManager):
    def _note_devices(
        self, driver: str, info: claim_infos.ClaimInfo, devices: preparations.Prepared
    ) -> None:
        super()._note_devices(driver, info, (*info.prepared.get(driver, ()), *devices))


@replacements.known_as("prepared-claim-ends-loop")
class PreparedClaimEndsLoop(claim_managers.ClaimManager):
    def prepare(self, pod: Object, claims: Iterable[pod_claims.PodClaim]) -> None:
        chosen: list[pod_claims.PodClaim] = []
        for claim in claims:
            chosen.append(claim)
            entry = self._entries.get(f"{pod['metadata']['namespace']}/{claim.name}")
            if entry is not None and entry.prepared:
                break
        super().prepare(pod, chosen)


@replacements.known_as("unregistered-driver-awaited")
class UnregisteredDriverAwaited(claim_managers.ClaimManager):
    def _require_drivers(self, pod: Object, wanted: claim_infos.ClaimInfo) -> None:
        del pod, wanted


@replacements.known_as("old-claim-used")
class OldClaimUsed(claim_managers.ClaimManager):
    def _find(self, wanted: claim_infos.ClaimInfo, pod: Object) -> Any:
        entry = self._entries.get(wanted.key)
        return super()._find(wanted, pod) if entry is None else entry


@replacements.known_as("unnamed-claim-stops-unprepare")
class UnnamedClaimStopsUnprepare(claim_managers.ClaimManager):
    def __init__(self, *arguments: Any, **options: Any) -> None:
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
        unnamed = self._unnamed.get(pod_uid)
        if pod is not None:
            names = [claim.name for claim in pod_claims.of(pod)]
            unnamed = pod if pod_claims.UNKNOWN_NAME in names else None
        if unnamed is not None:
            raise claim_managers.not_created(unnamed)
        super().unprepare(pod_uid, pod)
