"""An observation with its object, decoded once as the type of its resource."""

from collections.abc import Mapping
from typing import Any, Generic, TypeAlias, TypeVar

import msgspec

from harness.checks.observed import (
    observed_claims,
    observed_cluster,
    observed_metadata,
    observed_pods,
    observed_slices,
)
from harness.history import records

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
Kind = TypeVar("Kind", bound=observed_metadata.ApiObject)


class Seen(msgspec.Struct, Generic[Kind], frozen=True, kw_only=True):
    """A `records.Observation` whose object is decoded."""

    resource: str
    type: str
    """`ADDED`, `MODIFIED`, `DELETED`, `LISTED` or `FINAL`."""
    version: int
    """resourceVersion of the record."""
    ts_ns: int
    object: Kind
    content: msgspec.Raw = msgspec.Raw()
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

_decoders: dict[str, msgspec.json.Decoder[Any]] = {
    plural: msgspec.json.Decoder(kind) for plural, kind in TYPES.items()
}
_others = msgspec.json.Decoder(observed_metadata.ApiObject)


def decode(record: records.Observation) -> SeenAny:
    """Return an observation with its object.

    Raises msgspec.DecodeError, UnicodeDecodeError or RecursionError if it is no object of the API.
    """
    decoder = _decoders.get(record.resource, _others)
    return Seen(
        resource=record.resource,
        type=record.type,
        version=record.resource_version,
        ts_ns=record.ts_ns,
        object=decoder.decode(record.object),
        content=record.object,
    )
