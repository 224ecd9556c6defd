"""The keys of `[[pools.more]]` in a scenario file: kinds of pools beside the one of each node."""

import math
from typing import Annotated, Literal, Self, TypeAlias

import pydantic

from harness.scenario.fields import PositiveCount, Quantity, Spec

DEVICES_PER_POOL_MAX = 1280
"""The most that a node may have: ten ResourceSlices of 128 devices."""
PARTITIONS_MAX = 64
"""Parts into which a device can be divided."""
KINDS_MAX = 16
RESERVED = ("index", "kind", "owner", "parts")
"""Attributes that every device of these pools has already."""

Place: TypeAlias = Literal["node", "zone", "cluster", "device"]


def _require_attribute(value: object) -> object:
    is_small = not isinstance(value, int) or -(2**63) <= value < 2**63
    if isinstance(value, bool | int | str) and is_small:
        return value
    raise ValueError(f"expected true, false, a whole number of 64 bits or text, got {value!r:.60}")


AttributeValue: TypeAlias = Annotated[
    bool | int | str, pydantic.BeforeValidator(_require_attribute)
]


class PolicySpec(Spec):
    """The amounts of a capacity that a share of a device can have (`requestPolicy`)."""

    default: Quantity
    """Amount for a request that asks for none."""
    values: list[Quantity] = []
    """The possible amounts, ascending; empty: any, or those of the range."""
    least: Quantity | None = None
    """Begin of a range of amounts (`validRange.min`); None: there is no range."""
    most: Quantity | None = None
    """End of the range; None: the capacity."""
    step: Quantity | None = None
    """Distance between two amounts of the range; None: all amounts are possible."""

    @pydantic.model_validator(mode="after")
    def _require_one_form(self) -> Self:
        if self.values and self.least is not None:
            raise ValueError("expected either values or least, got both: remove one of them")
        if self.least is None and not (self.most is None and self.step is None):
            raise ValueError("expected least with most and step, got none: add it")
        return self


class TaintSpec(Spec):
    """A taint of devices, from the start of the run to its end."""

    key: Annotated[str, pydantic.Field(min_length=1, max_length=253)]
    """Key of the taint."""
    value: str = ""
    """Value of the taint."""
    effect: Literal["NoSchedule", "NoExecute", "None"] = "NoSchedule"
    """`None` keeps no claim from the device."""
    every: PositiveCount = 1
    """Each n-th device of a pool has the taint, beginning with the first."""


class PoolKindSpec(Spec):
    """Pools of one kind. The DeviceClass `<class>-<name>` selects their devices."""

    name: Annotated[str, pydantic.Field(pattern=r"^[a-z][a-z0-9]{0,15}$")]
    """Name of the kind: the end of its pools' names, and the attribute `kind` of its devices."""
    driver: Annotated[str, pydantic.Field(pattern=r"^([a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?)?$")] = ""
    """Name of another driver, whose pool on a node is named after the node, as those of most
    drivers are; empty: that of all pools, whose names end with the kind."""
    place: Place = "node"
    """Where devices can be used. node: one pool on each node. zone: one pool in each zone, by a
    `nodeSelector`. cluster: one pool for all nodes. device: one pool whose devices name one node
    each, in turn (`perDeviceNodeSelection`)."""
    devices: Annotated[int, pydantic.Field(ge=1, le=DEVICES_PER_POOL_MAX)]
    """Devices in each pool."""
    slices: Annotated[int, pydantic.Field(ge=1, le=128)] = 1
    """Least number of ResourceSlices with the devices of a pool; more if one cannot hold them."""
    attributes: dict[str, AttributeValue] = {}
    """Attributes of every device."""
    attributes_in_turn: dict[
        str, Annotated[list[AttributeValue], pydantic.Field(min_length=1)]
    ] = {}
    """Attributes that differ: the devices of a pool have the values of the list in turn."""
    capacity: dict[str, Quantity] = {}
    """Capacities of every device and of each of its partitions."""
    shared: bool = False
    """Many claims can have a share of a device, as long as its capacity lasts
    (`allowMultipleAllocations`)."""
    policies: dict[str, PolicySpec] = {}
    """Request policies of shared devices, by name of the capacity."""
    partitions: list[Annotated[int, pydantic.Field(ge=1, le=PARTITIONS_MAX)]] = []
    """Each device is offered in these numbers of equal parts, all of which share its counters: [1,
    2] offers the whole and its two halves. The attribute `parts` distinguishes them. Empty: it is
    offered as it is."""
    limit: PositiveCount | None = None
    """Devices of a pool that can be allocated at once, by a counter that each of them consumes;
    None: all."""
    taints: Annotated[list[TaintSpec], pydantic.Field(max_length=4)] = []
    """Taints of the devices."""
    binding_conditions: Annotated[list[str], pydantic.Field(max_length=4)] = []
    """Conditions of a device that must be true before a pod is bound."""
    binding_failure_conditions: Annotated[list[str], pydantic.Field(max_length=4)] = []
    """Conditions of a device by which binding fails."""
    binds_to_node: bool = False
    """A claim with the device is bound to the node for which it was allocated."""

    @property
    def is_of_cluster(self) -> bool:
        """True if the devices of a pool can be used on several nodes, or differ in their nodes."""
        return self.place != "node"

    @property
    def offered(self) -> int:
        return self.devices * sum(self.partitions or [1])

    @property
    def slots(self) -> int:
        """The counter that the whole device consumes; a part consumes as much less."""
        return math.lcm(*self.partitions)

    @property
    def has_counters(self) -> bool:
        return bool(self.partitions) or self.limit is not None

    @pydantic.model_validator(mode="after")
    def _require_no_contradiction(self) -> Self:
        reserved = {*self.attributes, *self.attributes_in_turn} & {*RESERVED}
        doubled = self.attributes.keys() & self.attributes_in_turn.keys()
        unknown = self.policies.keys() - self.capacity.keys()
        names, most = ", ".join, f"at most {DEVICES_PER_POOL_MAX}"
        problems = {
            f"other attributes than {names(RESERVED)}, got {names(sorted(reserved))}": reserved,
            f"each attribute once, got {names(sorted(doubled))} in attributes and attributes_in_turn": doubled,
            f"policies of its capacities, got {names(sorted(unknown))}: add the capacity": unknown,
            "shared = true with policies, got false": self.policies and not self.shared,
            "binding_conditions with binding_failure_conditions, got none": (
                self.binding_failure_conditions and not self.binding_conditions
            ),
            "each number of partitions once": len({*self.partitions}) < len(self.partitions),
            f"at most {self.offered} slices, one for each device, got {self.slices}": (
                self.slices > self.offered
            ),
            f"{most} devices and partitions in a pool, got {self.offered}": (
                self.offered > DEVICES_PER_POOL_MAX
            ),
        }
        for problem, is_so in problems.items():
            if is_so:
                raise ValueError(f"{self.name}: expected {problem}")
        return self
