"""Known defects: small classes that override one method of correct code.

The class docstring of a defect says what is wrong, in which versions, and how it was fixed; its
`facts` have its name, the check that catches it, where it was reported, and the releases that have
it. A run enables defects by name. Every class with facts in a module of this package is one.
"""

from harness.extensions import replacements
from harness.subject import wholes

CATALOGUE = replacements.Catalogue("defect", "defects", __name__, wholes.OF_PROCESSES, plugins=True)
"""The known defects of scheduler and claim controller by name."""
