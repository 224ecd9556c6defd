"""The checks of `status.devices`: drivers report on their devices, and pods wait for readiness.

The API promises (resource.k8s.io/v1, ResourceClaimStatus.devices): "Devices contains the status of
each device allocated for this claim, as reported by the driver. This can include driver-specific
information. Entries are owned by their respective drivers." So an entry is of an allocated device,
and no write that is not its driver's removes or changes it as long as the claim stays allocated. A
write that adds or changes an entry of one driver must not remove those of another one. And a write
is not of a driver if its manager, by the managed fields, owns entries of this driver neither before
nor afterwards. Where these do not show who wrote, nothing is counted against it.

Allocated devices may name conditions that a driver reports there (KEP-5007). The newest version of
each claim before a pod was bound has to show all of them true, and none of those that mean failure.
Both are recorded API objects, whose resourceVersions give their order.
"""

import bisect
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.observed import (
    field_managers,
    folders,
    observations,
    observed_claims,
    pod_lives,
)
from harness.history import records

_DeviceKey: TypeAlias = tuple[str, str, str, str]
"""Driver, pool, device and share."""
_Entries: TypeAlias = Mapping[_DeviceKey, observed_claims.DeviceStatus]


class _Version(NamedTuple):
    claim: observed_claims.Claim
    version: int
    entries: _Entries


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
        for key in sorted(entries.keys() - set(map(_key, claim.results))):
            told = f"has an entry of {_told(key)} in status.devices, which is not allocated to it"
            self.found.append(_finding(told, [now]))
        if before is not None and before.claim.results == claim.results:
            self.found += _foreign(before, now)

    def see_gap(self, gap: records.Gap) -> None:
        if gap.resource == observations.CLAIMS:
            self._last.clear()


def _key(item: observed_claims.DeviceStatus | observed_claims.AllocationResult) -> _DeviceKey:
    return item.driver, item.pool, item.device, item.share or ""


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
    known, writing = (
        {
            (item.manager, item.operation, item.subresource): item
            for item in field_managers.read(version.claim.metadata.managed_fields)
        }
        for version in (before, now)
    )
    makers = {
        key: item
        for key, item in writing.items()
        if key not in known or not field_managers.owns_no_more(item, known[key])
    }
    involved = [*makers.values(), *(known[key] for key in makers.keys() & known.keys())]
    if any(driver in field_managers.drivers_of_devices(item) for item in involved):
        return []
    return sorted({name for name, _, _ in makers})


def _told(key: _DeviceKey) -> str:
    share = f" (share {key[3]})" * bool(key[3])
    return "/".join(key[:3]) + share


def _finding(told: str, versions: Sequence[_Version]) -> findings.Finding:
    claim = versions[-1].claim
    return findings.Finding(
        summary=f"claim {claim.metadata.name} {told}",
        text=f"Claim {claim.metadata} {told}, at resourceVersion {versions[-1].version}",
        versions=[item.version for item in versions],
        objects=[claim.involved],
    )


def _judge_statuses(evidence: protocol.Evidence) -> verdicts.Answer:
    seen = evidence[DeviceStatuses]
    return findings.answer(
        DEVICE_STATUSES, examined=seen.examined, what="reports in status.devices", found=seen.found
    )


DEVICE_STATUSES = protocol.Check(
    name="device_statuses",
    guarantee="R",
    promise="reports on devices are of allocated devices, and only their driver changes them",
    applies=plan_facts.owes_claims,
    needs=(DeviceStatuses,),
    judge=_judge_statuses,
)


# ----------------------------------------------------------------------------- readiness
_ClaimKey = tuple[str, str]
"""Namespace and name."""
_State = tuple[str, ...] | None
"""Why devices of a claim are not ready, empty if they are; None: they have no conditions."""


class DeviceReadiness(folders.Folder):
    """When devices of claims became ready."""

    def __init__(self) -> None:
        self._states: dict[_ClaimKey, list[tuple[int, _State]]] = {}
        """The states of a claim, each with the resourceVersion since which it had it, in order."""

    def see_claim(self, seen: observations.SeenClaim) -> None:
        state = None if seen.is_gone else _state_of(seen.object)
        key = seen.object.metadata.namespace, seen.object.metadata.name
        states = self._states.setdefault(key, [])
        if not states or states[-1][1] != state:
            states.append((seen.version, state))

    def before(self, key: _ClaimKey, rv: int) -> tuple[int, _State]:
        """Return the state of a claim before a version, and since when it had it."""
        states = self._states.get(key, [])
        count = bisect.bisect_left(states, rv, key=lambda item: item[0])
        return states[count - 1] if count else (0, None)


def _state_of(claim: observed_claims.Claim) -> _State:
    if claim.status.allocation is None:
        return None
    results = claim.status.allocation.devices.results
    awaited = [result for result in results if result.binding_conditions]
    if not awaited:
        return None
    reported = {_key(item): item.conditions or () for item in claim.status.devices or ()}
    return tuple(
        problem
        for result in awaited
        for problem in _missing(result, reported.get(_key(result), ()))
    )


def _missing(
    result: observed_claims.AllocationResult, conditions: Sequence[observed_claims.Condition]
) -> Iterator[str]:
    true = {item.type for item in conditions if item.status == "True"}
    for kind in result.binding_conditions or ():
        if kind not in true:
            yield f"{kind} of {result.id} was not true"
    for kind in result.binding_failure_conditions or ():
        if kind in true:
            yield f"{kind} of {result.id} was true"


def _judge_readiness(evidence: protocol.Evidence) -> verdicts.Answer:
    seen, count, early = evidence[DeviceReadiness], 0, []
    for pod in evidence[pod_lives.PodLives].pods.values():
        rv = pod.bound_rv
        for name in pod.claims_at_binding if rv is not None else ():
            since, missing = seen.before((pod.namespace, name), rv or 0)
            count += missing is not None
            if missing:
                found = findings.Finding(
                    summary=f"pod {pod.name} was bound before its devices were ready",
                    text=f"Pod {pod.namespace}/{pod.name} was bound to {pod.node} at "
                    f"resourceVersion {rv}. Claim {pod.namespace}/{name} was as of resourceVersion "
                    f"{since}: {', '.join(missing)}",
                    versions=(since, rv or 0),
                    objects=[pod.involved],
                )
                early.append(found)
    if not count:
        none = DEVICE_READINESS.not_examined(
            "no pod with a device that has to be made ready was bound, so nothing was examined"
        )
        is_owed = plan_facts.kinds_have(evidence.plan, "binding_conditions")
        return none.as_unknown() if is_owed else none
    reason = f"{count} pods were bound when their devices were ready"
    if early:
        reason = f"{early[0].summary}; {len(early)} of {count} pods were bound too early"
    return findings.result(DEVICE_READINESS, early, examined=count, reason=reason)


DEVICE_READINESS = protocol.Check(
    name="device_readiness",
    guarantee="N",
    promise="no pod is bound before its devices are ready",
    applies=lambda plan: (
        plan_facts.kinds_have(plan, "binding_conditions")
        or plan_facts.files_have(plan, "binding-conditions")
    ),
    needs=(DeviceReadiness, pod_lives.PodLives),
    judge=_judge_readiness,
)
