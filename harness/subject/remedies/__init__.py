"""Remedies: what upstream could do against hazards that today's kube-scheduler still has.

They are the opposite of the known defects: small classes that override one or few methods of the
correct code. The page of the hazard in docs/findings says what upstream could do, why that is
enough, and what it does not cover. A run enables remedies by name.

The cost of a remedy is in its named steps: one `remedy.listed` or `remedy.read` for each request
that reads, `remedy.fenced` for each write, `remedy.postponed` for each try that failed;
`remedy.settled` has the time that a claim stayed in flight (`waited_ms`), and `remedy.took-over`
the time before the first pod. `remedy.binding-unknown`, `remedy.binding-open`,
`remedy.binding-known`, `remedy.pod-read`, `remedy.outcome-unknown`, `remedy.reallocation-seen`,
`remedy.write-refused`, `remedy.writes-ended`, `remedy.name-taken`, `remedy.pod-unseen`,
`remedy.claim-unseen`, `remedy.reservation-found`, `remedy.not-restored` and `remedy.tried-again`
say what gave rise to it.
"""

from harness.extensions import replacements
from harness.subject import wholes

CATALOGUE = replacements.Catalogue("remedy", "remedies", __name__, wholes.OF_PROCESSES)
"""The remedies by name."""
