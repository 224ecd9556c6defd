"""Remedies: what upstream could do against hazards that today's kube-scheduler still has.

They are the opposite of the known defects: small classes that override one or few methods of the
correct code. The page of the hazard in docs/findings says what upstream could do, why that is
enough, and what it does not cover. A run enables remedies by name.

The cost of a remedy is in its named steps: one `remedy.listed` or `remedy.read` for each request
that reads, `remedy.fenced` for each write, `remedy.postponed` for each try that failed.
"""

from harness.extensions import replacements
from harness.subject import wholes

CATALOGUE = replacements.Catalogue("remedy", "remedies", __name__, wholes.OF_PROCESSES)
"""The remedies by name."""
