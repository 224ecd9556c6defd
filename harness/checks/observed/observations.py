"""An observation with its object, decoded once as the type of its resource.

Most claims come from templates and their devices are allocated again and again, so that thousands
of objects have the same spec or allocation, byte for byte. They share one decoded part, which is
never changed; values that depend on the part alone are then kept by its identity.
"""

import collections
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

from harness.checks.observed import (
    observed_claims,
    observed_cluster,
    observed_metadata,
    observed_pods,
)
from harness.history import journal_reader, records

BYTES_MAX = 2**23
"""JSON of the parts that are kept; when there is more, all are forgotten."""
Part = TypeVar("Part")


class DecodedParts(dict[bytes, Part]):
    """Parts of one type by their JSON; raises what `decode` raises."""

    def __init__(self, decode: Callable[[bytes], Part]) -> None:
        super().__init__()
        self._decode = decode
        self._size = 0

    def __missing__(self, content: bytes) -> Part:
        part = self._decode(content)
        self._size += len(content)
        if self._size > BYTES_MAX:
            self.clear()
            self._size = len(content)
        self[content] = part
        return part


_specs = DecodedParts(msgspec.json.Decoder(observed_claims.ClaimSpec).decode)
_allocations = DecodedParts(msgspec.json.Decoder(observed_claims.Allocation | None).decode)
_set_attribute = msgspec.structs.force_setattr


class RawStatus(observed_claims.ClaimStatus, frozen=True):
    """A status whose allocation is not decoded yet."""

    allocation: msgspec.Raw = None  # type: ignore[assignment]


class RawClaim(observed_claims.Claim, frozen=True, kw_only=True):
    """A claim whose spec and allocation are not decoded yet."""

    spec: msgspec.Raw = msgspec.Raw(b"{}")  # type: ignore[assignment]
    status: RawStatus = RawStatus()


CLAIMS, PODS, SLICES = "resourceclaims", "pods", "resourceslices"
NODES, CLASSES, TAINT_RULES = "nodes", "deviceclasses", "devicetaintrules"
TEMPLATES, POD_GROUPS = "resourceclaimtemplates", "podgroups"
TYPES: Mapping[str, type[observed_metadata.ApiObject]] = {
    CLAIMS: observed_claims.Claim,
    PODS: observed_pods.Pod,
    SLICES: observed_cluster.Slice,
    NODES: observed_cluster.Node,
    CLASSES: observed_cluster.DeviceClass,
    TAINT_RULES: observed_cluster.TaintRule,
    TEMPLATES: observed_cluster.Template,
    POD_GROUPS: observed_pods.PodGroup,
}
"""The types of the objects, by resource; of other resources, only the metadata are read."""
_COLLECTORS = ("orphan", "foregroundDeletion")
ObjectError = observed_metadata.ObjectError
Kind = TypeVar("Kind", bound=observed_metadata.ApiObject)
Plural = TypeVar("Plural", bound=str)
_OBJECT = b',"object":'
"""The bytes before the object, which is the last field of a line as the recorder writes it."""


class Seen(
    msgspec.Struct,
    Generic[Kind, Plural],
    frozen=True,
    kw_only=True,
    tag_field="record",
    tag="observation",
    gc=False,
):
    """A `records.Observation` whose object is decoded."""

    resource: Plural
    type: Literal["ADDED", "MODIFIED", "DELETED", "LISTED", "FINAL"]
    version: records.Int62 = msgspec.field(name="resource_version")
    """resourceVersion of the record."""
    ts_ns: records.Int62
    object: Kind
    line: bytes = b""
    """The line of the record, with its end; empty if it was never JSON."""

    @property
    def is_gone(self) -> bool:
        return self.type == "DELETED"

    @property
    def ignored_finalizers(self) -> Sequence[str]:
        """The finalizers that the API server overlooked when it removed the object; usually none.

        An object whose last finalizer is taken away is marked as deleted before. A deletion
        itself takes away those of the garbage collector.
        """
        meta = self.object.metadata
        if not self.is_gone or meta.deletion_timestamp is not None:
            return ()
        return [item for item in meta.finalizers or () if item not in _COLLECTORS]

    @property
    def content(self) -> bytes:
        """JSON of the object, byte for byte as received; empty if it was never JSON."""
        return content_of(self.line)


SeenClaim: TypeAlias = Seen[observed_claims.Claim, str]
SeenPod: TypeAlias = Seen[observed_pods.Pod, str]
SeenSlice: TypeAlias = Seen[observed_cluster.Slice, str]
SeenNode: TypeAlias = Seen[observed_cluster.Node, str]
SeenClass: TypeAlias = Seen[observed_cluster.DeviceClass, str]
SeenTaintRule: TypeAlias = Seen[observed_cluster.TaintRule, str]
SeenTemplate: TypeAlias = Seen[observed_cluster.Template, str]
SeenPodGroup: TypeAlias = Seen[observed_pods.PodGroup, str]
SeenAny: TypeAlias = Seen[Any, str]


def content_of(line: bytes) -> bytes:
    at = line.find(_OBJECT)
    if at < 0 and line:  # written by another program
        return bytes(msgspec.json.decode(line, type=records.Observation).object)
    return line[at + len(_OBJECT) : -len(b"}\n")]


_BEGIN = b'{"record":"observation","resource":"'
"""The begin of a line as the recorder writes it."""
_PLURAL = slice(len(_BEGIN), len(_BEGIN) + len(CLAIMS))
"""Where the resource is in such a line: as much of it as distinguishes those in TYPES."""


_PLURAL_OF, _CLAIMS = operator.itemgetter(_PLURAL), CLAIMS.encode()


def _decoder(kind: Any, plural: str) -> Callable[[bytes], SeenAny]:
    return msgspec.json.Decoder(Seen[kind, Literal[plural]]).decode  # type: ignore[valid-type]


_decoders = {plural: _decoder(kind, plural) for plural, kind in TYPES.items()}
_decode_claim = _decoder(RawClaim, CLAIMS)
_decode_other = msgspec.json.Decoder(Seen[observed_metadata.ApiObject, str]).decode
_plurals = {(plural.encode() + b'","type":"')[: len(CLAIMS)]: plural for plural in TYPES}
"""Bytes of a line at _PLURAL -> the resource."""


def decode_line(line: bytes) -> Any:
    """Return the record of a line of the recorder's journal; an observation as `Seen`.

    Raises what `journal_reader.decode_record` raises, or ObjectError.
    """
    plural = _plurals.get(line[_PLURAL])
    if plural is not None or line.startswith(_BEGIN):
        try:
            return _seen(line, plural)
        except observed_metadata.NO_OBJECTS:
            pass  # Below, the record and its object are decoded one after the other.
    record = journal_reader.decode_record(line)
    return decode(record) if isinstance(record, records.Observation) else record


def decode_lines(lines: Sequence[bytes]) -> list[Any]:
    """Return the records of lines as `decode_line` does, those of claims all at once."""
    found: list[Any] = []
    for plural, group in itertools.groupby(lines, _PLURAL_OF):
        run = list(group)
        try:
            found += _claims(run) if plural == _CLAIMS else map(decode_line, run)
        except observed_metadata.NO_OBJECTS:
            found += map(decode_line, run)
    return found


def _seen(line: bytes, plural: str | None) -> SeenAny:
    """Return the observation of a line.

    `plural` is its resource, None: one that is not in TYPES. Raises one of NO_OBJECTS for any
    other line.
    """
    if plural == CLAIMS:
        return _claims([line])[0]
    seen: SeenAny = _decode_other(line) if plural is None else _decoders[plural](line)
    if plural is None and seen.resource in TYPES:
        raise msgspec.DecodeError("expected another resource")
    _set_attribute(seen, "line", line)
    return seen


def _claims(lines: Sequence[bytes]) -> list[SeenClaim]:
    """Return the observations of claims, step by step for all: a million take seconds less."""
    found = list(map(_decode_claim, lines))
    claims = [seen.object for seen in found]
    specs = map(_specs.__getitem__, map(bytes, [claim.spec for claim in claims]))
    _set_all(claims, "spec", specs)
    allocated = [claim.status for claim in claims if claim.status.allocation is not None]
    raw = map(bytes, [status.allocation for status in allocated])
    _set_all(allocated, "allocation", map(_allocations.__getitem__, raw))
    _set_all(found, "line", lines)
    return found


def _set_all(objects: Iterable[Any], name: str, values: Iterable[Any]) -> None:
    collections.deque(map(_set_attribute, objects, itertools.repeat(name), values), maxlen=0)


def decode(record: records.Observation) -> SeenAny:
    """Return an observation with its object.

    Raises ObjectError if it is no object of the API.
    """
    plural = record.resource if record.resource in TYPES else None
    try:
        return _seen(msgspec.json.encode(record) + b"\n", plural)
    except observed_metadata.NO_OBJECTS as error:
        raise ObjectError(str(error)) from error
