"""The facts about one known defect that its class cannot say."""

import dataclasses

from harness.catalogue import release_ranges

MUTANT = release_ranges.NEVER
"""The releases of a defect that was never shipped."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DefectFacts:
    """The check that catches a defect, its history, and the worlds in which exploring finds it."""

    check: str
    """Name of the check that catches it in a run; in a world its oracle judges the same
    guarantee."""
    issues: tuple[str, ...] = ()
    """Where it was reported, as `kubernetes#136269`."""
    releases: release_ranges.Releases = MUTANT
    """The releases that have it; none: it is a mutant."""
    worlds: tuple[str, ...] = ()
    """Worlds of `flake-hunt explore` in which it is found within seconds."""
