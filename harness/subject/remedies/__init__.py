"""Remedies: what upstream could do against hazards that today's kube-scheduler still has.

They are the opposite of the known defects: small classes that override one or few methods of the
correct code. The class docstring of a remedy says what it does, why that is enough, what it does
not cover, and which hypothesis it answers. A run enables remedies by name.

The cost of a remedy is in its named steps: one `remedy.listed` or `remedy.read` for each request
that reads, `remedy.fenced` for each write, `remedy.postponed` for each try that failed;
`remedy.settled` has the time that a claim stayed in flight (`waited_ms`), and `remedy.took-over`
the time before the first pod. `remedy.outcome-unknown`, `remedy.reallocation-seen`,
`remedy.write-refused` and `remedy.writes-ended` say what gave rise to it.

Contents: `compare_devices`, `fence_predecessor`, `keep_in_flight`, `settled_claims`.
"""

from harness.subject import replacements
from harness.subject.remedies import compare_devices, fence_predecessor, keep_in_flight

CATALOGUE = replacements.Catalogue(
    "remedy",
    "remedies",
    {
        "keep-in-flight-until-known": replacements.Replacement(
            "claim_binder", keep_in_flight.KeepInFlightBinder
        ),
        "compare-devices-on-update": replacements.Replacement(
            "allocated", compare_devices.ComparedDevices
        ),
        "fence-predecessor": replacements.Replacement(
            "leadership", fence_predecessor.FencingLeadership
        ),
    },
)
"""The remedies by name."""

names = CATALOGUE.names
describe = CATALOGUE.describe
require_known = CATALOGUE.require_known
