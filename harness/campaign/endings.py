"""How a campaign ended before all its planned runs were made, and how its workers come to know.

With `exit_first`, the first run that is not as expected ends it: the other runs under way are cut,
as at the end of a time budget, and no further one begins.
"""

import enum
import pathlib
from collections.abc import Iterable

from harness import writing
from harness.campaign import campaign_plan, results

MARK = "ended-early"
"""Name of the empty file in a campaign's folder that tells its workers to end."""


class Ending(enum.StrEnum):
    """Why planned runs were not made, as a clause."""

    NONE = ""
    """All were made, or were not needed, or the time budget ended."""
    INTERRUPTED = "it was interrupted"
    FIRST = "it ended at the first run that was not as expected (--exit-first)"


def end(folder: pathlib.Path) -> None:
    """Tell the workers of a campaign to end; raise StorageError or UnwritableError."""
    writing.replace(folder / MARK, b"")


def has_ended(folder: pathlib.Path) -> bool:
    """Return whether the workers of a campaign are told to end."""
    return (folder / MARK).exists()


def not_made(plan: campaign_plan.CampaignPlan, found: Iterable[results.RunResult]) -> int:
    """Return the number of planned runs that have no result, or only one of a cut."""
    return len(plan.runs) - len({result.number for result in found if not result.cut})
