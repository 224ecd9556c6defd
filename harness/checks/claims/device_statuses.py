"""The check of `status.devices`: drivers report on allocated devices, and each on its own alone.

The API promises (resource.k8s.io/v1, ResourceClaimStatus.devices): "Devices contains the status of
each device allocated for this claim, as reported by the driver. This can include driver-specific
information. Entries are owned by their respective drivers." So an entry is of an allocated device,
and no write that is not its driver's removes or changes it as long as the claim stays allocated.

A write that adds or changes an entry of one driver must not remove those of another one. And a
write is not of a driver if its manager, by the managed fields, owns entries of this driver neither
before nor afterwards. Where these do not show who wrote, nothing is counted against it.
"""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.observed import field_managers, folders, observations, observed_claims
from harness.history import records

_Key: TypeAlias = tuple[str, str, str, str]
"""Driver, pool, device and share."""
_Entries: TypeAlias = Mapping[_Key, observed_claims.DeviceStatus]


@dataclasses.dataclass(frozen=True, slots=True)
class _Version:
    """A version of an allocated claim."""

    claim: observed_claims.Claim
    version: int
    entries: _Entries

    @property
    def managers(self) -> dict[tuple[str, str, str], field_managers.Entry]:
        """Manager, operation and subresource -> what it owns."""
        found = field_managers.read(self.claim.metadata.managed_fields)
        return {(item.manager, item.operation, item.subresource): item for item in found}


class DeviceStatuses(folders.Folder):
    """The versions of allocated claims with reports, compared with those before them."""

    def __init__(self) -> None:
        self.examined = 0
        self.found: list[findings.Finding] = []
        self._last: dict[str, _Version] = {}
        """The newest version of each claim with entries, by uid."""

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Compare a version with entries, now or before, with the one before it."""
        claim = seen.object
        before = self._last.pop(claim.metadata.uid, None)
        if seen.is_gone or not (before or claim.status.devices):
            return
        entries = {_key(item): item for item in claim.status.devices or ()}
        now = _Version(claim, seen.version, entries)
        if entries:
            self._last[claim.metadata.uid] = now
        self.examined += 1
        self.found += _unallocated(now)
        if before is not None and before.claim.results == claim.results:
            self.found += _foreign(before, now)

    def see_gap(self, gap: records.Gap) -> None:
        """Forget what cannot be compared with the next version."""
        if gap.resource == observations.CLAIMS:
            self._last.clear()


def _key(item: observed_claims.DeviceStatus | observed_claims.AllocationResult) -> _Key:
    return item.driver, item.pool, item.device, item.share or ""


def _unallocated(now: _Version) -> Iterator[findings.Finding]:
    """Yield the entries of devices that the claim does not have."""
    for key in sorted(now.entries.keys() - set(map(_key, now.claim.results))):
        told = f"has an entry of {_told(key)} in status.devices, which is not allocated to it"
        yield _finding(told, [now])


def _foreign(before: _Version, now: _Version) -> Iterator[findings.Finding]:
    """Yield the entries that a write has removed or changed that was not their driver's."""
    written = {key[0] for key, entry in now.entries.items() if before.entries.get(key) != entry}
    for key, entry in before.entries.items():
        if now.entries.get(key) == entry:
            continue
        others = sorted(written - {key[0]}) if key not in now.entries else []
        makers = _strangers(before, now, key[0])
        verb = "changed" if key in now.entries else "removed"
        if others:
            by = f"by the write of an entry of {', '.join(others)}"
        elif makers:
            by = f"by {', '.join(makers)}, which owns no entry of this driver"
        else:
            continue
        yield _finding(f"lost the report on {_told(key)}: it was {verb} {by}", [before, now])


def _strangers(before: _Version, now: _Version, driver: str) -> Sequence[str]:
    """Return the managers that made a write, if none of them has to do with a driver."""
    known = before.managers
    makers = {
        key: item
        for key, item in now.managers.items()
        if key not in known or not field_managers.owns_no_more(item, known[key])
    }
    involved = [*makers.values(), *(known[key] for key in makers.keys() & known.keys())]
    if any(driver in field_managers.drivers_of_devices(item) for item in involved):
        return []
    return sorted({name for name, _, _ in makers})


def _told(key: _Key) -> str:
    share = f" (share {key[3]})" * bool(key[3])
    return "/".join(key[:3]) + share


def _finding(told: str, versions: Iterable[_Version]) -> findings.Finding:
    seen = list(versions)
    claim = seen[-1].claim
    return findings.Finding(
        summary=f"claim {claim.metadata.name} {told}",
        text=f"Claim {claim.metadata.key} (uid {claim.metadata.uid}) {told}, at resourceVersion "
        f"{seen[-1].version}",
        versions=[item.version for item in seen],
        objects=[claim.involved],
    )


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    """Return INVALID with the entries that others wrote, NotExamined without any entry."""
    seen = evidence[DeviceStatuses]
    return findings.answer(
        CHECK, examined=seen.examined, what="reports in status.devices", found=seen.found
    )


CHECK = protocol.Check(
    name="device_statuses",
    guarantee="R",
    promise="reports on devices are of allocated devices, and only their driver changes them",
    applies=plan_facts.owes_claims,
    needs=(DeviceStatuses,),
    judge=judge,
)
