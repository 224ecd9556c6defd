"""The check of reservations: no claim is ever reserved for more pods than the API allows.

Every version of every claim that the recorder saw is examined, not only the last one. A run owes
this if its scenario demands that many pods share a claim (`load.reservations_min`).
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import TypeGuard

import msgspec

from harness.checks import verdicts
from harness.history import plans, records

NAME = "claim_reservations"
RESERVATIONS_MAX = 256
"""Entries that the API allows in `status.reservedFor`."""
PROMISE = f"no claim is reserved for more than {RESERVATIONS_MAX} pods at once"
IN_FULL_MAX, OTHERS_MAX = 20, 200
"""Violations that are listed in full, and by their summaries."""


class _Meta(msgspec.Struct):
    name: str
    uid: str
    namespace: str = ""


class _Consumer(msgspec.Struct):
    uid: str = ""


class _Status(msgspec.Struct):
    reservedFor: list[_Consumer] | None = None  # noqa: N815 - the API's spelling


class _Claim(msgspec.Struct):
    metadata: _Meta
    status: _Status = msgspec.field(default_factory=_Status)


_claims = msgspec.json.Decoder(_Claim)


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
class Reservations:
    """The reservations in all versions of all claims."""

    versions: int = 0
    """Number of versions with a reservation."""
    most: int = 0
    """Largest number of reservations of one claim at once."""
    excesses: dict[str, Excess] = dataclasses.field(default_factory=dict)
    """By the uid of the claim."""

    def follow(self, observations: Iterable[records.Body]) -> Iterator[records.Body]:
        """Yield the records of the recorder, each after noting it."""
        for record in observations:
            if _is_version(record):
                self._note(_claims.decode(record.object), record.resource_version)
            yield record

    def _note(self, claim: _Claim, version: int) -> None:
        count = len(claim.status.reservedFor or ())
        self.versions += count > 0
        self.most = max(self.most, count)
        if count > RESERVATIONS_MAX:
            meta = claim.metadata
            found = self.excesses.setdefault(
                meta.uid,
                Excess(uid=meta.uid, namespace=meta.namespace, name=meta.name, most=0, versions=[]),
            )
            found.most = max(found.most, count)
            found.versions.append(version)


def _is_version(record: records.Body) -> TypeGuard[records.Observation]:
    """Return whether this is a new version of a claim that the API server stored."""
    return (
        isinstance(record, records.Observation)
        and record.resource == "resourceclaims"
        and record.type not in ("DELETED", "FINAL")
    )


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
