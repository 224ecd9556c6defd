"""Claims whose specs and allocations are decoded once for all claims that have the same."""

import msgspec

from harness.checks.observed import interning, observed_claims, observed_metadata

_specs = interning.DecodedParts(msgspec.json.Decoder(observed_claims.ClaimSpec).decode)
_allocations = interning.DecodedParts(
    msgspec.json.Decoder(observed_claims.Allocation | None).decode
)
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

    spec: msgspec.Raw = _ABSENT
    status: RawStatus = RawStatus()


def decoded(claim: RawClaim) -> observed_claims.Claim:
    """Return the claim; raises msgspec.DecodeError if spec or allocation are none of the API."""
    return observed_claims.Claim(
        metadata=claim.metadata,
        kind=claim.kind,
        spec=_specs.of(claim.spec) if claim.spec else _NO_SPEC,
        status=_decoded_status(claim.status),
    )


def _decoded_status(status: RawStatus) -> observed_claims.ClaimStatus:
    if status.allocation:
        allocation = _allocations.of(status.allocation)
    elif status.reserved_for is None and status.devices is None:
        return _NO_STATUS
    else:
        allocation = None
    return observed_claims.ClaimStatus(
        allocation=allocation, reserved_for=status.reserved_for, devices=status.devices
    )
