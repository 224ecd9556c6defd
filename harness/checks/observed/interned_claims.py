"""Claims whose specs and allocations are decoded once for all claims that have the same."""

import msgspec

from harness.checks.observed import interning, observed_claims

_Raw, _set_attribute = msgspec.Raw, msgspec.structs.force_setattr
_specs = interning.DecodedParts(msgspec.json.Decoder(observed_claims.ClaimSpec).decode)
_allocations = interning.DecodedParts(
    msgspec.json.Decoder(observed_claims.Allocation | None).decode
)


class _Status(observed_claims.ClaimStatus, frozen=True):
    allocation: msgspec.Raw = None  # type: ignore[assignment]


class InternedClaim(observed_claims.Claim, frozen=True, kw_only=True):
    """A claim as it is decoded, to be given to `intern` before anything else.

    Its spec and its allocation are JSON until then. They are replaced in place: making other
    structs with the decoded parts would take as long as decoding all the rest.
    """

    spec: msgspec.Raw = observed_claims.ClaimSpec()  # type: ignore[assignment]
    status: _Status = _Status()


def intern(claim: InternedClaim) -> None:
    """Decode spec and allocation; raises msgspec.DecodeError if they are none of the API."""
    spec, status = claim.spec, claim.status
    if type(spec) is _Raw:
        _set_attribute(claim, "spec", _specs.of(spec))
    if status.allocation is not None:
        _set_attribute(status, "allocation", _allocations.of(status.allocation))
