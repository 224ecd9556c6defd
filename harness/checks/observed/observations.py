"""An observation with its object, decoded once as the type of its resource."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from harness.checks.observed import (
    observed_claims,
    observed_cluster,
    observed_metadata,
    observed_pods,
    observed_slices,
)
from harness.history import journal_reader, records

CLAIMS, PODS, SLICES = "resourceclaims", "pods", "resourceslices"
NODES, CLASSES, TAINT_RULES = "nodes", "deviceclasses", "devicetaintrules"
TYPES: Mapping[str, type[observed_metadata.ApiObject]] = {
    CLAIMS: observed_claims.Claim,
    PODS: observed_pods.Pod,
    SLICES: observed_slices.Slice,
    NODES: observed_cluster.Node,
    CLASSES: observed_cluster.DeviceClass,
    TAINT_RULES: observed_cluster.TaintRule,
}
"""The types of the objects, by resource; of other resources, only the metadata are read."""
_NO_OBJECTS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of reading what is no object of the API."""
Kind = TypeVar("Kind", bound=observed_metadata.ApiObject)


class Seen(msgspec.Struct, Generic[Kind], frozen=True, kw_only=True, gc=False):
    """A `records.Observation` whose object is decoded."""

    resource: str
    type: str
    """`ADDED`, `MODIFIED`, `DELETED`, `LISTED` or `FINAL`."""
    version: int
    """resourceVersion of the record."""
    ts_ns: int
    object: Kind
    content: bytes = b""
    """JSON of the object, byte for byte as received; empty if it was never JSON."""

    @property
    def is_gone(self) -> bool:
        """True if the object was deleted; it is in its last state."""
        return self.type == "DELETED"


SeenClaim: TypeAlias = Seen[observed_claims.Claim]
SeenPod: TypeAlias = Seen[observed_pods.Pod]
SeenSlice: TypeAlias = Seen[observed_slices.Slice]
SeenNode: TypeAlias = Seen[observed_cluster.Node]
SeenClass: TypeAlias = Seen[observed_cluster.DeviceClass]
SeenTaintRule: TypeAlias = Seen[observed_cluster.TaintRule]
SeenAny: TypeAlias = Seen[Any]

_LINE = re.compile(
    rb'\{"record":"observation","resource":"([a-z]+)",'
    rb'"type":"(ADDED|MODIFIED|DELETED|LISTED|FINAL)",'
    rb'"resource_version":(0|[1-9][0-9]{0,17}),"ts_ns":(0|[1-9][0-9]{0,17}),"object":'
)
"""The begin of an observation's line as the recorder writes it; its object and `}` follow."""
_decoders: dict[str, Callable[[bytes | msgspec.Raw], Any]] = {
    plural: msgspec.json.Decoder(kind).decode for plural, kind in TYPES.items()
}
_decode_other = msgspec.json.Decoder(observed_metadata.ApiObject).decode


class ObjectError(ValueError):
    """The object of a sound record is not an object of the API."""


def decode_line(line: bytes) -> Any:
    """Return the record of a line of the recorder's journal; an observation as `Seen`.

    In a line as the recorder writes it, only the object is decoded. Raises what
    `journal_reader.decode_record` raises, or ObjectError.
    """
    begin = _LINE.match(line)
    if begin is not None and line.endswith(b"}\n"):
        try:
            return _seen(line[begin.end() : -2], *begin.groups())
        except _NO_OBJECTS:
            pass  # Below, the record and its object are decoded one after the other.
    record = journal_reader.decode_record(line)
    return decode(record) if isinstance(record, records.Observation) else record


def _seen(content: bytes, resource: bytes, kind: bytes, version: bytes, ts_ns: bytes) -> SeenAny:
    plural = resource.decode()
    return Seen(
        resource=plural,
        type=kind.decode(),
        version=int(version),
        ts_ns=int(ts_ns),
        object=_decoders.get(plural, _decode_other)(content),
        content=content,
    )


def decode(record: records.Observation) -> SeenAny:
    """Return an observation with its object.

    Raises ObjectError if it is no object of the API.
    """
    try:
        decoded = _decoders.get(record.resource, _decode_other)(record.object)
    except _NO_OBJECTS as error:
        raise ObjectError(str(error)) from error
    return Seen(
        resource=record.resource,
        type=record.type,
        version=record.resource_version,
        ts_ns=record.ts_ns,
        object=decoded,
        content=bytes(record.object),
    )
