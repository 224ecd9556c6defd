"""Claims whose specs and allocations are decoded once for all claims that have the same."""

import msgspec

from harness.checks.observed import interning, observed_claims, observed_metadata

_spec = interning.RepeatedParts(msgspec.json.Decoder(observed_claims.ClaimSpec).decode).of
_allocation = interning.DecodedParts(
    msgspec.json.Decoder(observed_claims.Allocation | None).decode
).of
_ABSENT = msgspec.Raw()
_NO_SPEC = observed_claims.ClaimSpec()
_NO_STATUS = observed_claims.ClaimStatus()


class RawStatus(observed_metadata.Part, frozen=True):
    """A `ClaimStatus` whose allocation is not decoded."""

    allocation: msgspec.Raw = _ABSENT
    reserved_for: list[observed_claims.Consumer] | None = None
    devices: list[observed_claims.DeviceStatus] | None = None


class RawClaim(observed_metadata.ApiObject, frozen=True, kw_only=True):
    """A claim whose spec and allocation are not decoded."""

    metadata: observed_claims.ClaimMeta
    spec: msgspec.Raw = _ABSENT
    status: RawStatus = RawStatus()


def decoded(claim: RawClaim) -> observed_claims.Claim:
    """Return the claim; raises msgspec.DecodeError if spec or allocation are none of the API."""
    raw = claim.status
    if raw.allocation:
        status = observed_claims.ClaimStatus(
            allocation=_allocation(raw.allocation),
            reserved_for=raw.reserved_for,
            devices=raw.devices,
        )
    elif raw.reserved_for is None and raw.devices is None:
        status = _NO_STATUS
    else:
        status = observed_claims.ClaimStatus(reserved_for=raw.reserved_for, devices=raw.devices)
    return observed_claims.Claim(
        metadata=claim.metadata,
        kind=claim.kind,
        spec=_spec(claim.spec) if claim.spec else _NO_SPEC,
        status=status,
    )
