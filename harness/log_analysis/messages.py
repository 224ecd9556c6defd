"""The messages of a scheduler about how claims get devices, with their verbosity.

They are those of kube-scheduler 1.32 to 1.36; our own scheduler logs them as 1.36 does.
"""

import enum


class Message(enum.StrEnum):
    """A message whose lines are analysed."""

    STARTED = "Starting Kubernetes Scheduler"
    PRE_FILTER = "pod resource claims"
    """Verbosity 5. A scheduling attempt begins; shortly after, it gathers the devices in use."""
    GATHER_STARTED = "Starting GatherAllocatedState"
    """Verbosity 6; with `GATHER_FINISHED` in releases with the fixes."""
    LIST_STARTED = "Starting ListAllAllocatedDevices"
    GATHER_FINISHED = "Finished GatherAllocatedState"
    LIST_FINISHED = "Finished ListAllAllocatedDevices"
    REMOVED = "Removed in-flight claim"
    """Verbosity 5, as the other lines about in-flight claims; releases with the fixes only."""
    RESERVED = "Reserved resource in allocation result"
    """Verbosity 5: Reserve planned this allocation and added the claim to those in flight."""
    RELEASED = "Released resource in allocation result"
    WRITTEN = "reserved"
    """Verbosity 5: the API server stored allocation and reservation."""
    ASSUMED = "Assumed object"
    """Verbosity 4 up to 1.35, 5 from 1.36."""
    RESTORED = "Restored object"
    """The same; the allocation of a claim in flight was given up, in releases up to 1.35."""
    OBSERVED = "Observed device allocation"
    """Verbosity 6: the device is about to be inserted into the allocated devices."""
    FREED = "Observed device deallocation"
    SHARED = "Observed shared device allocation"
    BINDING = "Attempting to bind pod to node"
    """Verbosity 3: PreBind has ended, so the pod's claims have left those in flight."""
    BOUND = "Successfully bound pod to node"
    CLAIMS_FAILED = "dynamic resource plugin failed"
    """An error, written at verbosity 5; the two messages below report it again."""
    PLUGIN_FAILED = "Plugin failed"
    SCHEDULING_FAILED = "Error scheduling pod; retrying"


IN_FLIGHT = b"Device is in flight for allocation"
"""Verbosity 6. Most lines of a log can have it: they are only read where they matter."""
GATHER_STARTS = frozenset((Message.GATHER_STARTED, Message.LIST_STARTED))
GATHER_ENDS = frozenset((Message.GATHER_FINISHED, Message.LIST_FINISHED))
FAILURES = frozenset((Message.CLAIMS_FAILED, Message.PLUGIN_FAILED, Message.SCHEDULING_FAILED))
EVIDENCE = frozenset(
    (Message.RESERVED, Message.RELEASED, Message.OBSERVED, Message.FREED, Message.SHARED)
)
"""Messages without which a log shows less than happened: one that cannot be read is counted."""
BY_TEXT = {message.value.encode(): message for message in Message}


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
        return f"{count:,} {self.value[count != 1]}"
