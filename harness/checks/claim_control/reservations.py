"""The check of reservations: no claim is ever reserved for more pods than the API allows.

Every version of every claim that the recorder saw is examined, not only the last one. A run owes
this if its scenario demands that many pods share a claim (`load.reservations_min`).
"""

import dataclasses

from harness.checks import verdicts
from harness.checks.observed import folders, observations
from harness.history import plans

NAME = "claim_reservations"
RESERVATIONS_MAX = 256
"""Entries that the API allows in `status.reservedFor`."""
PROMISE = f"no claim is reserved for more than {RESERVATIONS_MAX} pods at once"
IN_FULL_MAX, OTHERS_MAX = 20, 200
"""Violations that are listed in full, and by their summaries."""


@dataclasses.dataclass(slots=True, kw_only=True)
class Excess:
    """A claim that was reserved for too many pods."""

    uid: str
    namespace: str
    name: str
    most: int
    """Largest number of its reservations at once."""
    versions: list[int]
    """The resourceVersions with too many of them."""


@dataclasses.dataclass(slots=True)
class Reservations(folders.Folder):
    """The reservations in all versions of all claims."""

    versions: int = 0
    """Number of versions with a reservation."""
    most: int = 0
    """Largest number of reservations of one claim at once."""
    excesses: dict[str, Excess] = dataclasses.field(default_factory=dict)
    """By the uid of the claim."""

    def see_claim(self, seen: observations.SeenClaim) -> None:
        """Count the reservations of a version that the API server stored."""
        if seen.is_gone:
            return
        count = len(seen.object.status.reserved_for or ())
        self.versions += count > 0
        self.most = max(self.most, count)
        if count > RESERVATIONS_MAX:
            meta = seen.object.metadata
            found = self.excesses.setdefault(
                meta.uid,
                Excess(uid=meta.uid, namespace=meta.namespace, name=meta.name, most=0, versions=[]),
            )
            found.most = max(found.most, count)
            found.versions.append(seen.version)


def applies(plan: plans.Plan) -> bool:
    """Return whether runs with this plan owe the guarantee."""
    return plan.requirements.reservations_min > 0


def check(seen: Reservations) -> verdicts.CheckResult:
    """Return INVALID with the claims that had too many, UNKNOWN without any reservation."""
    excesses = list(seen.excesses.values())
    return verdicts.CheckResult(
        check=NAME,
        promise=PROMISE,
        verdict=_verdict(seen),
        examined_count=seen.versions,
        violation_count=len(excesses),
        violations=[_violation(item) for item in excesses[:IN_FULL_MAX]],
        others=[_summary(item) for item in excesses[IN_FULL_MAX:][:OTHERS_MAX]],
        reason=_reason(seen),
    )


def _verdict(seen: Reservations) -> verdicts.Verdict:
    if seen.excesses:
        return verdicts.Verdict.INVALID
    return verdicts.Verdict.VALID if seen.versions else verdicts.Verdict.UNKNOWN


def _reason(seen: Reservations) -> str:
    if not seen.versions:
        return "no reservation of any claim was observed, so nothing was examined"
    told = f"at most {seen.most} reservations of one claim in {seen.versions} versions"
    if seen.excesses:
        first = next(iter(seen.excesses.values()))
        return f"{_summary(first)}; {told}"
    return told


def _summary(item: Excess) -> str:
    return f"claim {item.name} was reserved for {item.most} pods at once"


def _violation(item: Excess) -> verdicts.Violation:
    return verdicts.Violation(
        guarantee=NAME,
        summary=_summary(item),
        text=(
            f"Claim {item.namespace}/{item.name} (uid {item.uid}) was reserved for up to {item.most} "
            f"pods at once, {RESERVATIONS_MAX} are allowed, in {len(item.versions)} versions from "
            f"resourceVersion {item.versions[0]} to {item.versions[-1]}."
        ),
        resource_versions=sorted({item.versions[0], item.versions[-1]}),
        objects=[verdicts.involved_claim(item)],
    )
