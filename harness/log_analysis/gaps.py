"""Parts that are missing in a log, or cannot be read: each kind is counted."""

import enum


class Gap(enum.Enum):
    """A kind of gap, as a sentence for one and for several."""

    LINE = (
        "line has a message of a scheduler, but no header that can be read",
        "lines have a message of a scheduler, but no header that can be read",
    )
    PLAN = (
        "planned allocation could not be read: lines after its first one are missing or changed",
        "planned allocations could not be read: lines after their first ones are missing or changed",
    )
    DEVICE = (
        "line about a device in use could not be read",
        "lines about devices in use could not be read",
    )
    ORPHAN = (
        "allocation has no line before it that says whose it is",
        "allocations have no lines before them that say whose they are",
    )
    SUPPRESSED = ("line was suppressed by journald", "lines were suppressed by journald")
    UNPLANNED = (
        "claim was stored whose plan the log does not show",
        "claims were stored whose plans the log does not show",
    )
    UNSEEN = (
        "stored claim has no line that shows its device in use",
        "stored claims have no lines that show their devices in use",
    )

    def counted(self, count: int) -> str:
        """Return the sentence with its number."""
        return f"{count:,} {self.value[count != 1]}"
