"""The keys of `pools` in a scenario file: fake nodes, devices, and the class of the claims."""

from typing import Annotated, Literal, Self

import pydantic

from harness.scenario import pool_changes, pool_kind_specs
from harness.scenario.fields import Name, ParameterName, Quantity, Spec

NODES_MAX = 5000
"""The documented limit of Kubernetes."""
DEVICES_MAX = 1_000_000
"""Devices on all nodes together."""
DEVICES_PER_NODE_MAX = 1280
"""Ten ResourceSlices of 128 devices."""
IMPLICIT_RESOURCE_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Prefix of the extended resource that every class backs; the name of the class follows."""


class DeviceClassSpec(Spec):
    """The DeviceClass that claims request; further kinds of pools each add one of their own."""

    name: Name = "flake-hunt"
    """Name of the class; one class is enough for a first-fit race."""
    selectors: list[str] = []
    """CEL expressions over `device` in addition to the driver; empty: every device of the
    driver."""
    extended_resource: Annotated[
        str,
        pydantic.Field(
            pattern=r"^([a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?/[A-Za-z0-9][-A-Za-z0-9_.]{0,40})?$"
        ),
    ] = ""
    """Extended resource that the class backs, such as `flake-hunt.example/gpu`; empty: only the
    implicit one, `deviceclass.resource.kubernetes.io/` and the class's name. On a cluster with
    other users, a run inserts its id."""
    parameters: dict[ParameterName, str] = {}
    """Opaque parameters for the driver; containers get each as `admin_<key>` in their
    environment."""

    @property
    def requested_resource(self) -> str:
        """The extended resource that containers request for devices of this class."""
        return self.extended_resource or IMPLICIT_RESOURCE_PREFIX + self.name


class PoolsSpec(Spec):
    """The fake nodes and their device pools: one node, one pool, one or more ResourceSlices, and
    further kinds of pools."""

    nodes: Annotated[int, pydantic.Field(ge=1, le=NODES_MAX)] = 8
    """Number of nodes; 8 as in the upstream integration test."""
    devices_per_node: Annotated[int, pydantic.Field(ge=0, le=DEVICES_PER_NODE_MAX)] = 100
    """Devices in the pool of each node; 100 as in the upstream integration test; 0 if there are
    only pools of further kinds."""
    driver: Annotated[str, pydantic.Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?$")] = (
        "gpu.flake-hunt.example"
    )
    """Name of the DRA driver."""
    published_by: Literal["run", "driver"] = "run"
    """driver: the run publishes no ResourceSlices, because the program of `subject.driver` does;
    `devices_per_node` and the other keys say what it is expected to publish."""
    attributes: dict[str, pool_kind_specs.AttributeValue] = {"model": "fake"}
    """Attributes of every device, for CEL selectors."""
    capacity: dict[str, Quantity] = {}
    """Capacities of every device as quantities, for CEL selectors."""
    node_prefix: Annotated[str, pydantic.Field(pattern=r"^[a-z0-9][-a-z0-9]{0,47}$")] = "worker-"
    """Prefix of node names; on a cluster with other users, a run inserts its id."""
    owner: str = ""
    """Value of an attribute `owner` of every device, which the class selects, so that runs on one
    cluster do not share devices. Set by the run on clusters with other users; empty: none."""
    device_class: DeviceClassSpec = DeviceClassSpec()
    """The class of the claims."""
    zones: Annotated[int, pydantic.Field(ge=0, le=NODES_MAX)] = 0
    """Zones among which the nodes are divided in turn, by the label `topology.kubernetes.io/zone`;
    0: none."""
    more: Annotated[
        list[pool_kind_specs.PoolKindSpec], pydantic.Field(max_length=pool_kind_specs.KINDS_MAX)
    ] = []
    """Further kinds of pools."""
    changes: Annotated[
        list[pool_changes.AnyPoolChange], pydantic.Field(max_length=pool_changes.CHANGES_MAX)
    ] = []
    """Changes that the drivers make during the run: devices come and go, are tainted, or are
    published again."""

    @property
    def device_count(self) -> int:
        """The number of devices in all slices, with all partitions."""
        more = sum(kind.offered * self.pool_count(kind) for kind in self.more)
        return self.nodes * self.devices_per_node + more

    def pool_count(self, kind: pool_kind_specs.PoolKindSpec) -> int:
        """Return the number of pools of a further kind."""
        return {"node": self.nodes, "zone": self.zones}.get(kind.place, 1)

    def class_of(self, kind_name: str) -> str:
        """Return the DeviceClass for devices of a kind; empty: of any."""
        base = self.device_class.name
        return f"{base}-{kind_name}" if kind_name else base

    @property
    def class_names(self) -> list[str]:
        """The names of all DeviceClasses."""
        return [self.class_of(name) for name in ("", *(kind.name for kind in self.more))]

    @property
    def extended_resources(self) -> dict[str, str]:
        """Name of an extended resource -> the DeviceClass that backs it."""
        implicit = {IMPLICIT_RESOURCE_PREFIX + name: name for name in self.class_names}
        return implicit | {self.device_class.requested_resource: self.device_class.name}

    @pydantic.model_validator(mode="after")
    def _require_pools(self) -> Self:
        """Reject pools without devices or zones, and names that occur twice."""
        names = [kind.name for kind in self.more]
        if len(set(names)) < len(names):
            raise ValueError(f"more: expected each name once, got {', '.join(names)}")
        if not (self.devices_per_node or self.more):
            raise ValueError("expected devices_per_node of at least 1 without more, got 0")
        if self.device_class.parameters and self.more:
            raise ValueError(
                "device_class.parameters: expected none with more, whose classes have none"
            )
        if self.zones > self.nodes:
            raise ValueError(f"zones: expected at most nodes = {self.nodes}, got {self.zones}")
        if not self.zones and any(kind.place == "zone" for kind in self.more):
            raise ValueError("zones: expected at least 1 for pools in zones, got 0")
        return self
