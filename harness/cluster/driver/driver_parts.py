"""The parts of the test driver as a program, each of which a known defect may replace."""

import dataclasses

from harness.cluster.driver import claim_reading, drivers, prepared_claims, served_drivers


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DriverParts:
    """The parts; the defaults are the correct ones."""

    driver: type[drivers.Driver] = drivers.Driver
    claims: type[prepared_claims.PreparedClaims] = prepared_claims.PreparedClaims
    reader: type[claim_reading.ClaimReader] = claim_reading.ClaimReader
    served: type[served_drivers.ServedDriver] = served_drivers.ServedDriver


CORRECT = DriverParts()
"""No known defect."""
