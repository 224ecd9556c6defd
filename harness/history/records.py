"""The records of a run: JSON lines, one whole record a line.

A file begins with a Header and, when its writer ended in order, closes with a Trailer that counts the records between
them. A torn last line is tolerated and noted; any other damage is an error that names file and line. A writer hands every
line to the kernel before it goes on, so a killed process loses nothing that it had written.
"""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

SCHEMA_VERSION = 1
LINE_MAX = 32 * 2**20
"""Bytes of a line; an API object has at most a few MiB."""
Outcome: TypeAlias = Literal["ok", "fail", "unknown"]
Int62: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**62), le=2**62)]
"""A time or a resourceVersion: differences of two fit 64 bits, whatever a damaged file claims."""


class Header(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="header"):
    """First line: who wrote this file, in which run and on which boot of the host."""

    schema: int = SCHEMA_VERSION
    process: str
    """The process's name in the run, as in the file's name: `traffic-0`, `kubelet`, `scheduler`."""
    run_id: str
    boot_id: str
    pid: int
    started_wall_ns: Int62
    """Wall clock, for display only."""


class Trailer(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="trailer"):
    """Last line of a file whose writer ended in order."""

    count: int
    """Records between header and trailer."""
    ts_ns: Int62
    reason: str = "stopped"


class Invocation(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="invocation"):
    """An API call is about to be made."""

    op: int
    """Number of the operation within its file."""
    user: str
    """The logical process that makes the call; retired after an unknown outcome."""
    verb: str
    """create, update, patch, delete, bind, get, list"""
    resource: str
    """Plural, with the subresource: `pods`, `resourceclaims/status`."""
    namespace: str
    name: str
    ts_ns: Int62


class Completion(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="completion"):
    """The call of an Invocation has ended."""

    op: int
    outcome: Outcome
    ts_ns: Int62
    status: int | None = None
    """HTTP status; None when no answer came."""
    reason: str = ""
    message: str = ""
    """Of a call that did not succeed, on one line and cut: the message of the Status, or of the exception."""
    uid: str = ""
    resource_version: str = ""


class Waited(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="waited"):
    """A user of the traffic waited for an object to reach a state."""

    user: str
    resource: str
    namespace: str
    name: str
    goal: str
    """`Running`, `Deleted`, …"""
    reached: bool
    started_ns: Int62
    ts_ns: Int62


class Listed(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="listed"):
    """A complete list was taken; one Observation of type LISTED or FINAL for each object follows it."""

    resource: str
    purpose: Literal["first", "relist", "final"]
    resource_version: Int62
    count: int
    ts_ns: Int62


class Observation(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="observation"):
    """One object state as the watch or a list delivered it."""

    resource: str
    type: Literal["ADDED", "MODIFIED", "DELETED", "LISTED", "FINAL"]
    resource_version: Int62
    ts_ns: Int62
    object: msgspec.Raw
    """The object's JSON, exactly as it came."""


class Gap(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="gap"):
    """The watch may have missed commits of this resource between two resourceVersions."""

    resource: str
    after_resource_version: Int62
    reason: str
    ts_ns: Int62


class Resumed(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="resumed"):
    """The watch was opened (again) at a resourceVersion; nothing was missed."""

    resource: str
    resource_version: Int62
    reason: str
    ts_ns: Int62


class Step(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="step"):
    """A named step of the Python subject."""

    seq: int
    ts_ns: Int62
    thread: str
    name: str
    fields: dict[str, Any]


class ProcessStarted(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="process-started"
):
    """A process of the run was started."""

    process: str
    pid: int
    argv: list[str]
    ts_ns: Int62


class ProcessEnded(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="process-ended"
):
    """A process of the run has ended; unexpectedly unless the run had asked it to, or it had its work done."""

    process: str
    pid: int
    exit_code: int
    """As subprocess gives it: negative for a signal."""
    expected: bool
    ts_ns: Int62


class Phase(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="phase"):
    """The run went on to its next phase: `traffic started`, `subject started`, `goal reached`, `timed out`, …"""

    name: str
    ts_ns: Int62
    detail: str = ""


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
    | Phase
)
Record: TypeAlias = Header | Trailer | Body
