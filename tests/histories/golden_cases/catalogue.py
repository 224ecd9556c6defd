"""All golden run directories: for each check a VALID, an INVALID and an UNKNOWN one.

A case is one entry of `CASES`. Its folder is `tests/golden/<check>/<name>`, and its name begins
with the verdict on the run, which is the verdict of the check. The history is a text of the
language or, for what the language cannot say, commits of API objects.
"""

from collections.abc import Mapping, Sequence

from tests.histories.golden_cases import allocations, claims, nodes, progress, sharing
from tests.histories.golden_cases.case import Case

CASES: Sequence[Case] = (
    *sharing.CASES,
    *progress.CASES,
    *nodes.CASES,
    *allocations.CASES,
    *claims.CASES,
)
IMPOSSIBLE: Mapping[tuple[str, str], str] = {}
"""Check and verdict of which there can be no run directory, and why."""
