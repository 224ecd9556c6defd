"""Known defects: small classes that override one method of correct code.

The row of a defect in `defects.toml` says what is wrong, in which versions, and how it was fixed,
the check that catches it, where it was reported, and the worlds that find it.
"""

from harness.extensions import replacements
from harness.subject import wholes

CATALOGUE = replacements.Catalogue("defect", "defects", __name__, wholes.OF_PROCESSES, plugins=True)
"""The known defects of scheduler and claim controller by name."""
