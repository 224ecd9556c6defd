"""An observation with its object, decoded once as the type of its resource."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

from harness.checks.observed import (
    interned_claims,
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

_decoders: dict[str, Callable[[bytes | msgspec.Raw], Any]] = {
    plural: msgspec.json.Decoder(kind).decode for plural, kind in TYPES.items()
}
_decode_other = msgspec.json.Decoder(observed_metadata.ApiObject).decode


class ObjectError(ValueError):
    """The object of a sound record is not an object of the API."""


class _Line(
    msgspec.Struct, Generic[Kind], frozen=True, tag_field="record", tag="observation", gc=False
):
    """The line of a `records.Observation`, decoded with its object."""

    resource: str
    type: Literal["ADDED", "MODIFIED", "DELETED", "LISTED", "FINAL"]
    resource_version: records.Int62
    ts_ns: records.Int62
    object: Kind


_BEGIN = b'{"record":"observation","resource":"'
_OBJECT = b',"object":'
"""The begin of a line as the recorder writes it, and what is before its object, the last field."""
_line_decoders: dict[bytes, Callable[[bytes], Any]] = {
    plural.encode(): msgspec.json.Decoder(_Line[kind]).decode  # type: ignore[valid-type]
    for plural, kind in {**TYPES, CLAIMS: interned_claims.RawClaim}.items()
}
_decode_other_line = msgspec.json.Decoder(_Line[observed_metadata.ApiObject]).decode


def decode_line(line: bytes) -> Any:
    """Return the record of a line of the recorder's journal; an observation as `Seen`.

    The line has no end. Raises what `journal_reader.decode_record` raises, or ObjectError.
    """
    if line.startswith(_BEGIN):
        try:
            return _seen(line)
        except _NO_OBJECTS:
            pass  # Below, the record and its object are decoded one after the other.
    record = journal_reader.decode_record(line)
    return decode(record) if isinstance(record, records.Observation) else record


def _seen(line: bytes) -> SeenAny:
    """Return the observation of a line; an object of the recorder ends where its line does.

    Raises one of _NO_OBJECTS for any other line.
    """
    plural = line[len(_BEGIN) : line.find(b'"', len(_BEGIN))]
    found = _line_decoders.get(plural, _decode_other_line)(line)
    begin = line.find(_OBJECT)
    if begin < 0 or found.resource.encode() != plural:
        raise msgspec.DecodeError("expected a line as the recorder writes it")
    content = found.object
    return Seen(
        resource=found.resource,
        type=found.type,
        version=found.resource_version,
        ts_ns=found.ts_ns,
        object=interned_claims.decoded(content) if found.resource == CLAIMS else content,
        content=line[begin + len(_OBJECT) : -1],
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
