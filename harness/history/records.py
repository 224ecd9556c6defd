"""The records of a run: JSON lines, one whole record a line.

A file begins with a Header and, when its writer ended in order, closes with a Trailer that counts the records between
them. A torn last line is tolerated and noted; any other damage is an error that names file and line. A writer hands every
line to the kernel before it goes on, so a killed process loses nothing that it had written.
"""

import functools
import os
import pathlib
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from harness import clocks, errors
from harness.history import files

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


class FaultWindow(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="fault-window"
):
    """What was done to the cluster or the subject, from when to when."""

    fault: str
    target: str
    injected: bool
    healed: bool
    started_ns: Int62
    ended_ns: Int62
    detail: str = ""


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
    | FaultWindow
    | ProcessStarted
    | ProcessEnded
    | Phase
)
Record: TypeAlias = Header | Trailer | Body

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Record] = msgspec.json.Decoder(Record)


class Writer:
    """Appends records to one new file; raises OSError when the evidence cannot be written.

    Each record is one write(2), so whatever kills the process, the file keeps every record it was given. Not locked:
    one thread writes, or the caller sees to it.
    """

    def __init__(self, path: pathlib.Path, *, process: str, run_id: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        self._path, self._fd = path, os.open(path, flags, 0o644)
        self._count = 0
        self._put(
            Header(
                process=process,
                run_id=run_id,
                boot_id=clocks.boot_id(),
                pid=os.getpid(),
                started_wall_ns=clocks.wall_ns(),
            )
        )

    def write(self, record: Body) -> None:
        """Append one record."""
        self._put(record)
        self._count += 1

    def write_many(self, records: list[Body]) -> None:
        """Append several records with one write(2)."""
        self._write_all(_encoder.encode_lines(records))
        self._count += len(records)

    def close(self, *, reason: str = "stopped") -> None:
        """End the file in order, with its trailer."""
        self._put(Trailer(count=self._count, ts_ns=clocks.monotonic_ns(), reason=reason))
        os.close(self._fd)

    def _put(self, record: Record) -> None:
        self._write_all(_encoder.encode(record) + b"\n")

    def _write_all(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self._fd, line) :]
        except OSError as error:
            error.filename = str(self._path)  # write(2) knows no names
            raise


class Journal(msgspec.Struct, frozen=True, kw_only=True):
    """A file of records as it was found."""

    path: pathlib.Path
    header: Header | None
    """None when not even the first line was written whole."""
    trailer: Trailer | None
    """None when the writer did not end in order."""
    torn: bool
    """Whether the last line was cut short."""
    records: list[Body]


def read(path: pathlib.Path) -> Journal:
    """The whole file; HistoryError names file and line of any damage but a torn last line."""
    return gather(Reader(path))


def gather(reader: "Reader") -> Journal:
    """Everything that a reader reads."""
    records = list(reader)
    return Journal(
        path=reader.path,
        header=reader.header,
        trailer=reader.trailer,
        torn=reader.torn,
        records=records,
    )


class Reader:
    """Iterates over the records between header and trailer in constant memory; read the attributes afterwards."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.header: Header | None = None
        self.trailer: Trailer | None = None
        self.torn = False
        self.line = 0
        """The number of the line that was read last."""

    def __iter__(self) -> Iterator[Body]:
        count = 0
        with files.open_regular(self.path) as file:
            lines = iter(functools.partial(file.readline, LINE_MAX + 1), b"")
            for number, line in enumerate(lines, start=1):
                self.line = number
                if not line.endswith(b"\n"):
                    self._note_torn(line, number)
                    return
                record = self._decode(line, number)
                if isinstance(record, Header):
                    self._accept_header(record, number)
                elif isinstance(record, Trailer):
                    self._accept_trailer(record, number, count)
                else:
                    self._require_order(number)
                    count += 1
                    yield record

    def _note_torn(self, line: bytes, number: int) -> None:
        if len(line) > LINE_MAX:
            raise self._damage(number, f"expected a line of at most {LINE_MAX} bytes")
        self.torn = True

    def _decode(self, line: bytes, number: int) -> Record:
        try:
            return _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._damage(
                number, f"expected a whole record, got {line[:60]!r} ({error})"
            ) from error

    def _accept_header(self, header: Header, number: int) -> None:
        if number != 1:
            raise self._damage(number, "a second header: two writers shared the file")
        if header.schema != SCHEMA_VERSION:
            raise self._damage(
                number,
                f"expected schema {SCHEMA_VERSION}, got {header.schema}: read it with the version that wrote it",
            )
        self.header = header

    def _accept_trailer(self, trailer: Trailer, number: int, count: int) -> None:
        self._require_order(number)
        if trailer.count != count:
            raise self._damage(
                number, f"the trailer counts {trailer.count} records, the file has {count}"
            )
        self.trailer = trailer

    def _require_order(self, number: int) -> None:
        if self.header is None:
            raise self._damage(number, "expected the header first")
        if self.trailer is not None:
            raise self._damage(number, "a record after the trailer")

    def _damage(self, number: int, what: str) -> errors.HistoryError:
        return errors.HistoryError(
            f"{self.path.name}, line {number}: {what}. The journal is damaged; restore the file or run again"
        )
