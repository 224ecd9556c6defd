"""The tables of a run's record: their columns, with types, units and meaning.

DataFrames, the tables of `flake-hunt query` and the page of the reference all follow these
definitions.
"""

import dataclasses
import enum
from collections.abc import Iterator

MEMORY_MIB = 512
"""Default memory for tables, sorting and joining; the process needs up to 200 MiB more."""


class Kind(enum.Enum):
    """The type of a column: in SQL, in pandas, and in pandas with NA."""

    TEXT = ("VARCHAR", "str", "str")
    JSON = ("JSON", "str", "str")
    TEXTS = ("VARCHAR[]", "object", "object")
    INTEGER = ("BIGINT", "int64", "Int64")
    SEED = ("UBIGINT", "uint64", "UInt64")
    FLAG = ("BOOLEAN", "bool", "boolean")

    def __init__(self, sql: str, frame: str, frame_with_na: str) -> None:
        self.sql, self.frame, self.frame_with_na = sql, frame, frame_with_na


@dataclasses.dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    kind: Kind
    meaning: str
    is_optional: bool = False
    """It may be NULL: never, or not known."""

    @property
    def dtype(self) -> str:
        return self.kind.frame_with_na if self.is_optional else self.kind.frame


@dataclasses.dataclass(frozen=True, slots=True)
class Table:
    """A table; all have the column `run` first."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


UNITS = (
    "`run` is the path of the run directory. `*_rv` is a resourceVersion; a time `*_ts_ns` is in "
    "nanoseconds of the run's monotonic clock, `*_wall_ns` in nanoseconds of Unix time. Names and "
    "ids are always text, also `007`, `1e5` or `NA`"
)
_RUN = Column("run", Kind.TEXT, "path of the run directory")


def _text(name: str, meaning: str, *, optional: bool = False) -> Column:
    return Column(name, Kind.TEXT, meaning, optional)


def _integer(name: str, meaning: str, *, optional: bool = False) -> Column:
    return Column(name, Kind.INTEGER, meaning, optional)


def _object(kind: str) -> Iterator[Column]:
    yield _text("uid", f"UID of the {kind}")
    yield _text("namespace", f"namespace of the {kind}")
    yield _text("name", f"name of the {kind}")


_ALL = (
    Table(
        "runs",
        "One row for each run.",
        (
            _RUN,
            _text("scenario", "name of the scenario", optional=True),
            _text("subject", "what was tested", optional=True),
            Column("defects", Kind.TEXTS, "known defects that were switched on", is_optional=True),
            Column("seed", Kind.SEED, "seed of the run", is_optional=True),
            _integer("created_wall_ns", "when the run was planned", optional=True),
            _text("verdict", "VALID, UNKNOWN or INVALID; NULL: not judged", optional=True),
            _text("reason", "the verdict in one sentence", optional=True),
        ),
    ),
    Table(
        "claims",
        "One row for each ResourceClaim that was observed.",
        (
            _RUN,
            *_object("claim"),
            _integer("from_rv", "first version that was observed"),
            _integer("from_ts_ns", "when it was observed"),
            _integer("allocated_rv", "first version with devices", optional=True),
            _integer("allocated_ts_ns", "when it was observed", optional=True),
            _integer("gone_rv", "version of its deletion", optional=True),
            _integer("gone_ts_ns", "when that was observed", optional=True),
        ),
    ),
    Table(
        "pods",
        "One row for each pod that was observed.",
        (
            _RUN,
            *_object("pod"),
            _text("node", "node that it was bound to", optional=True),
            _integer("from_rv", "first version that was observed"),
            _integer("from_ts_ns", "when it was observed"),
            _integer("running_ts_ns", "when it was first observed Running", optional=True),
            _integer("gone_rv", "version of its deletion", optional=True),
            _integer("gone_ts_ns", "when that was observed", optional=True),
        ),
    ),
    Table(
        "holds",
        "One row for each device of an allocation, from the version that allocates it to the one "
        "that does not any more, or deletes the claim. If a claim has several results of one "
        "device, they are one row, and what they say is joined by commas.",
        (
            _RUN,
            _text("device", "driver/pool/device"),
            *_object("claim"),
            _text("kind", "`exclusive`, `share` or `admin` (access)"),
            _integer("from_rv", "version of the claim that allocates the device"),
            _integer("until_rv", "exclusive; NULL: to the end of the record", optional=True),
            _integer("from_ts_ns", "when the allocation was observed"),
            _integer("until_ts_ns", "when its end was observed", optional=True),
            _text("request", "request of the claim that the result is for", optional=True),
            _text("share", "shareID of a share", optional=True),
            _text("amounts", "consumed capacity of a share, as JSON", optional=True),
        ),
    ),
    Table(
        "devices",
        "One row for each device that a ResourceSlice has declared.",
        (
            _RUN,
            _text("device", "driver/pool/device"),
            Column("shareable", Kind.FLAG, "a slice once let several claims share it"),
        ),
    ),
    Table(
        "pool_devices",
        "One row for each generation of a pool in which a slice declares a device. Versions are of "
        "slices: never compare them with those of claims.",
        (
            _RUN,
            _text("device", "driver/pool/device"),
            _text("driver", "name of the driver"),
            _text("pool", "name of the pool"),
            _integer("generation", "generation of the pool"),
            Column("shareable", Kind.FLAG, "several claims may share it"),
            _integer("from_rv", "version of the slice that declares it so"),
            _integer("until_rv", "exclusive; NULL: to the end of the record", optional=True),
            _integer("from_ts_ns", "when that was observed"),
            _integer("until_ts_ns", "when its end was observed", optional=True),
        ),
    ),
    Table(
        "operations",
        "One row for each API call that clients of the run have made.",
        (
            _RUN,
            _text("process", "process that called: `traffic-0`, `kubelet`, …"),
            _integer("op", "number of the call within the process"),
            _text("user", "logical process that called"),
            _text("verb", "create, update, patch, delete, bind, get or list"),
            _text("resource", "plural, with the subresource: `resourceclaims/status`"),
            _text("namespace", "namespace of the object"),
            _text("name", "name of the object"),
            _integer("started_ts_ns", "when the call began"),
            _integer("ended_ts_ns", "when it ended; NULL: it was not seen to end", optional=True),
            _text("outcome", "ok, fail or unknown", optional=True),
            _integer("status", "HTTP status; NULL: no answer", optional=True),
            _text("reason", "reason of the Status, or class of the error", optional=True),
        ),
    ),
    Table(
        "steps",
        "One row for each named step of our own scheduler and claim controller.",
        (
            _RUN,
            _text("process", "`scheduler`, `claim-controller`, …"),
            _integer("seq", "number of the step within the process"),
            _integer("ts_ns", "when it was taken"),
            _text("thread", "name of the thread"),
            _text("name", "name of the step"),
            Column("fields", Kind.JSON, "what the step says, as JSON"),
        ),
    ),
    Table(
        "faults",
        "One row for each time from which to which a fault was enabled.",
        (
            _RUN,
            _text("fault", "name of the fault, as in plan.json"),
            _text("kind", "kind of the fault: `lose-response`, …"),
            _integer("begun_ts_ns", "when it was enabled"),
            _integer("ended_ts_ns", "when it was healed"),
            _integer("applied_count", "how many times it took effect"),
            _text("error", "why it could not be injected or healed; empty: it could"),
        ),
    ),
    Table(
        "fault_effects",
        "One row for each time that a fault took effect: on a call, an event, an object, or a process.",
        (
            _RUN,
            _text("fault", "name of the fault, as in plan.json"),
            _text("kind", "kind of the fault: `lose-response`, …"),
            _text("client", "process whose call or watch was hit; empty: none"),
            _text("verb", "verb of the call; empty: none"),
            _text("resource", "plural of the object; empty: none"),
            _text("namespace", "namespace of the object"),
            _text("name", "name of the object"),
            _text("uid", "UID of the object; empty: not known"),
            _integer("resource_version", "version of the object; 0: not known"),
            _text("process", "process that was killed, paused or restarted; empty: none"),
            _integer("begun_ts_ns", "when it took effect"),
            _integer("ended_ts_ns", "when the call or process went on", optional=True),
            _text("detail", "the effect in words"),
        ),
    ),
)
TABLES = {table.name: table for table in _ALL}
"""Tables by name, in the order of the reference."""


def summary() -> str:
    """Return the columns of each table, as the help of `query` shows them."""
    lines = [f"{table.name}: {', '.join(table.names)}" for table in TABLES.values()]
    return "\n\n".join(lines)
