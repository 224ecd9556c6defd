"""The records of a run: JSON lines, one record a line.

A journal begins with a Header. If its writer was closed, it ends with a Trailer that counts the
records between them.
"""

import re
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

SCHEMA_VERSION = 1
Outcome: TypeAlias = Literal["ok", "fail", "unknown"]
PreparationCall: TypeAlias = Literal["prepare", "unprepare"]
Int62: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
"""A time or a resourceVersion. Its bounds keep differences of damaged values within 64 bits."""


SET_UP = "set-up"
"""The user that creates what a load shares. All but the first worker learn that it exists."""


def _tag(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


class _Record(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag=_tag):
    """A record names its type in its first field: `process-started` for ProcessStarted."""


class Header(_Record, frozen=True, kw_only=True):
    """The first line: the writer, the run and the boot of the host."""

    schema: int = SCHEMA_VERSION
    process: str
    """Name of the process, as in the file name: `traffic-0`, `kubelet`, `scheduler`."""
    run_id: str
    boot_id: str
    pid: int
    started_wall_ns: Int62
    """Wall clock, for display only."""


class Trailer(_Record, frozen=True, kw_only=True):
    """The last line of a journal whose writer was closed."""

    count: int
    """Number of records between header and trailer."""
    ts_ns: Int62
    reason: str = "stopped"


class Invocation(_Record, frozen=True, kw_only=True, gc=False):
    """An API call, journaled before it is made."""

    op: int
    """Number of the operation, unique within the file."""
    user: str
    """The logical process that makes the call; retired after an unknown outcome."""
    verb: str
    """`create`, `update`, `patch`, `delete`, `bind`, `get` or `list`."""
    resource: str
    """Plural name with the subresource: `pods`, `resourceclaims/status`."""
    namespace: str
    name: str
    ts_ns: Int62


class Completion(_Record, frozen=True, kw_only=True, gc=False):
    """The end of the API call of an Invocation."""

    op: int
    outcome: Outcome
    ts_ns: Int62
    status: int | None = None
    """HTTP status; None if no answer arrived."""
    reason: str = ""
    message: str = ""
    """Message of the Status or exception, one line, truncated; empty after success."""
    uid: str = ""
    resource_version: str = ""
    devices: list[str] | None = None
    """`driver/pool/device` of what the claim in the answer has allocated; None: the answer is no
    claim, or the file is from an older version."""


class Waited(_Record, frozen=True, kw_only=True):
    """A user of the traffic has waited for an object to reach a state."""

    user: str
    resource: str
    namespace: str
    name: str
    goal: str
    """`Running`, `Deleted`, …"""
    reached: bool
    started_ns: Int62
    ts_ns: Int62
    begun_beside: str = ""
    """Name of the next object, which the user creates although it still waits for this one; empty:
    none."""


class Listed(_Record, frozen=True, kw_only=True):
    """A complete list; one Observation of type LISTED or FINAL for each object follows."""

    resource: str
    purpose: Literal["first", "relist", "final"]
    resource_version: Int62
    count: int
    ts_ns: Int62


class Observation(_Record, frozen=True, kw_only=True):
    """The state of one object as a watch or a list delivered it."""

    resource: str
    type: Literal["ADDED", "MODIFIED", "DELETED", "LISTED", "FINAL"]
    resource_version: Int62
    ts_ns: Int62
    object: msgspec.Raw
    """JSON of the object, byte for byte as received."""


class Gap(_Record, frozen=True, kw_only=True):
    """A gap in the watch: commits of this resource after a resourceVersion may be missing."""

    resource: str
    after_resource_version: Int62
    reason: str
    ts_ns: Int62


class Resumed(_Record, frozen=True, kw_only=True):
    """The watch was opened or reopened at a resourceVersion without a gap."""

    resource: str
    resource_version: Int62
    reason: str
    ts_ns: Int62


class Step(_Record, frozen=True, kw_only=True):
    """A named step of the Python subject."""

    seq: int
    ts_ns: Int62
    thread: str
    name: str
    fields: dict[str, Any]


class ProcessStarted(_Record, frozen=True, kw_only=True):
    """A process of the run was started."""

    process: str
    pid: int
    argv: list[str]
    ts_ns: Int62


class ProcessEnded(_Record, frozen=True, kw_only=True):
    """A process of the run has ended."""

    process: str
    pid: int
    exit_code: int
    """The same as `subprocess.Popen.returncode`: negative for a signal."""
    expected: bool
    """True if the run had stopped the process, a fault had ended it, or its work was done."""
    fault: str = ""
    """Name of the fault that ended the process; empty: no fault did."""
    lease_lost: bool = False
    """True if it is a scheduler that ended at once because it had lost its lease."""
    ts_ns: Int62


class ProcessPaused(_Record, frozen=True, kw_only=True):
    """A process of the run was stopped by SIGSTOP."""

    process: str
    pid: int
    fault: str
    """Name of the fault."""
    ts_ns: Int62


class ProcessResumed(_Record, frozen=True, kw_only=True):
    """A paused process of the run was continued by SIGCONT."""

    process: str
    pid: int
    ts_ns: Int62


class MemoryUsed(_Record, frozen=True, kw_only=True):
    """A sample of the memory of a process of the run, with its descendants."""

    process: str
    resident_bytes: int
    pods_ran: int
    """Number of pods that had been Running by then."""
    ts_ns: Int62


class Phase(_Record, frozen=True, kw_only=True):
    """The run entered a phase: `traffic started`, `goal reached`, `timed out`, …"""

    name: str
    ts_ns: Int62
    detail: str = ""


class FaultApplied(_Record, frozen=True, kw_only=True):
    """A fault took effect once: on a call, an event, an object, or a process."""

    fault: str
    """Name of the fault, as in plan.json."""
    kind: str
    """Kind of the fault, as in the scenario file: `lose-response`, `kill-process`, …"""
    client: str = ""
    """Process whose call or watch was hit: `scheduler`, `claim-controller`, …; empty: none."""
    verb: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    """Object that was hit, as far as it is known."""
    event_type: str = ""
    """`ADDED`, `MODIFIED`, `DELETED` or `BOOKMARK` if a watch event was hit; otherwise empty."""
    resource_version: Int62 = 0
    """Version of the object in the response or event; otherwise the newest known one; 0:
    unknown."""
    process: str = ""
    """Process that was killed, paused or restarted; `api-server` for the API server."""
    begun_ns: Int62
    ended_ns: Int62 | None = None
    """Time at which the call, event or process went on; None: it never did."""
    detail: str = ""
    """The effect as text."""
    alive_ns: Int62 | None = None
    """Last moment at which a restarted API server surely lived; None: not known."""
    dead_ns: Int62 | None = None
    """First moment at which it surely had ended."""


class FaultWindow(_Record, frozen=True, kw_only=True):
    """A fault was enabled from one time to another; written when it has been healed."""

    fault: str
    kind: str
    begun_ns: Int62
    ended_ns: Int62
    applied_count: int
    """Number of times it took effect."""
    error: str = ""
    """Why it could not be injected, healed or observed as planned; empty: it could."""


class ScriptStep(_Record, frozen=True, kw_only=True):
    """A step of a script has happened, or was late."""

    step: int
    """Its number, counted from 1."""
    text: str
    """The step, as a clause."""
    late: str = ""
    """Why it did not happen, or not in its time; empty: it has happened."""
    seen: str = ""
    """The call or event that it was about, and the version that it saw or made."""
    begun_ns: Int62
    ended_ns: Int62


class ThreadHold(msgspec.Struct, frozen=True, kw_only=True):
    """A thread was held at a place of its program."""

    place: str
    """`entry of F called by G`, or `return of F to G`."""
    visit: int
    """Which visit of the place in its try it was, counted from 1."""
    goroutine: int
    stack: list[str]
    """Functions that it was in, the newest first."""
    begun_ns: Int62
    ended_ns: Int62
    during: dict[str, int] = {}
    """Place -> visits by other threads meanwhile."""


class OrderTried(_Record, frozen=True, kw_only=True):
    """A search of orders of threads has tried one."""

    number: int
    """Counted from 1."""
    chosen: list[tuple[str, int]]
    """Places and visits at which threads were to be held."""
    repeats: int = 0
    """Number of the try whose order it repeats; 0: it has an order of its own."""
    waits: str = ""
    """The kind of call or event that waited, too; empty: none."""
    holds: list[ThreadHold] = []
    """The threads that were held."""
    visits: dict[str, int] = {}
    """Place -> visits by all threads."""
    found: str = ""
    """The devices that two claims had at once, with the claims; empty: none."""
    is_done: bool = True
    """All pods were bound; otherwise they were given up."""
    begun_ns: Int62
    ended_ns: Int62


class Prepared(_Record, frozen=True, kw_only=True):
    """The driver of a node has prepared a claim: from `ts_ns` on its devices are in use there."""

    node: str
    namespace: str
    claim: str
    claim_uid: str
    devices: list[str]
    """`driver/pool/device` of all devices of the allocation."""
    shared: list[str] = []
    """Devices that other claims may use, too: by admin access, or as a share."""
    pod_uid: str
    """The first pod on this node that uses the claim."""
    pod: str
    begun_ns: Int62
    ts_ns: Int62


class Unprepared(_Record, frozen=True, kw_only=True):
    """The driver of a node has unprepared a claim: its devices were in use until `begun_ns`.

    A kubelet that was killed may leave this without a Prepared, which it could not write.
    """

    node: str
    namespace: str
    claim: str
    claim_uid: str
    devices: list[str]
    pod_uid: str
    """The last pod on this node that used the claim."""
    pod: str
    begun_ns: Int62
    ts_ns: Int62


class ContainerStarted(_Record, frozen=True, kw_only=True):
    """A container that uses claims was started, with the environment that the driver gave it."""

    node: str
    namespace: str
    pod: str
    pod_uid: str
    container: str
    environment: dict[str, str]
    ts_ns: Int62


class ContainersFailed(_Record, frozen=True, kw_only=True):
    """The containers of a pod could not be started with their devices; it is tried again."""

    node: str
    namespace: str
    pod: str
    pod_uid: str
    reason: str
    """`CreateContainerError`."""
    message: str
    ts_ns: Int62


class NodeRebooted(_Record, frozen=True, kw_only=True):
    """A kubelet has found its node rebooted: all containers that ran on it have ended.

    It may find that again, with the same boot id, if it was killed before all of them ran again.
    """

    node: str
    boot_id: str
    ts_ns: Int62


class PrepareFailed(_Record, frozen=True, kw_only=True):
    """A kubelet or its driver did not prepare or unprepare a claim; they try again."""

    call: PreparationCall
    node: str
    namespace: str
    claim: str
    claim_uid: str
    """Empty if the claim was not found."""
    devices: list[str]
    """Devices of the allocation; empty if there is none."""
    pod_uid: str
    pod: str
    reason: str
    """`NotReserved`, `DeviceHeld`, …"""
    message: str
    begun_ns: Int62
    ts_ns: Int62


class PoolChanged(_Record, frozen=True, kw_only=True):
    """A change of device pools has been made, or undone: its last write is confirmed."""

    change: str
    """Its name in the plan: `taint-2`."""
    number: int
    """How often it has been made so far."""
    undone: bool = False
    pools: list[str]
    """`driver/pool`."""
    devices: list[str] = []
    """`driver/pool/device`; empty: it is about whole pools."""
    begun_ns: Int62
    ts_ns: Int62


Body: TypeAlias = (
    Invocation
    | Completion
    | Waited
    | Listed
    | Observation
    | Gap
    | Resumed
    | Step
    | ProcessStarted
    | ProcessEnded
    | ProcessPaused
    | ProcessResumed
    | MemoryUsed
    | Phase
    | FaultApplied
    | FaultWindow
    | ScriptStep
    | OrderTried
    | Prepared
    | Unprepared
    | PrepareFailed
    | ContainerStarted
    | ContainersFailed
    | NodeRebooted
    | PoolChanged
)
Record: TypeAlias = Header | Trailer | Body
