"""The keys of `pools` in a scenario file: fake nodes, devices, and the class of the claims."""

from typing import Annotated, Literal, Self, TypeAlias

import pydantic
from pydantic import json_schema

from harness.scenario import pool_changes, pool_kind_specs
from harness.scenario.fields import Count, Name, ParameterName, Quantity, Spec, Texts

Feature: TypeAlias = Literal[
    "binding-conditions",
    "counters",
    "lists",
    "several-nodes",
    "shares",
    "taint-rules",
    "taints",
]
"""Features of slices and rules that not every release, cluster or check knows. `several-nodes`: a
pool is not of one node; `lists`: attributes with lists of values; `shares`: devices that many
claims can have a share of."""


class ImportedSpec(Spec):
    """The objects of `pools.from`, before they are multiplied by `copies`."""

    nodes: Count = 0
    """Number of Nodes, or of nodes that slices name if there are no Nodes."""
    own_devices: Count = 0
    """Number of devices in pools that name nodes; they are multiplied."""
    other_devices: Count = 0
    """Number of devices in all other pools, of which there is one each."""
    slices: Count = 0
    """Number of ResourceSlices."""
    drivers: Texts = ()
    """Names of the drivers."""
    classes: dict[str, str] = {}
    """Name of each DeviceClass -> the extended resource that it backs; empty: none."""
    templates: Texts = ()
    """Names of the ResourceClaimTemplates."""
    resources: Texts = ()
    """Names of the resources that Nodes offer by themselves."""
    attributes: Texts = ()
    """Full names of the devices' attributes."""
    has: Annotated[tuple[Feature, ...], pydantic.Field(strict=False)] = ()
    """Features of the slices and rules."""
    sha256: Annotated[str, pydantic.Field(pattern=r"^[0-9a-f]{64}$")]
    """Digest of the objects as the run directory has them."""


NODES_MAX = 5000
"""The documented limit of Kubernetes."""
DEVICES_MAX = 1_000_000
"""Devices on all nodes together."""
DEVICES_PER_NODE_MAX = 1280
"""Ten ResourceSlices of 128 devices."""
COPIES_MAX = 1000
FILES_MAX = 64
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
        return self.extended_resource or IMPLICIT_RESOURCE_PREFIX + self.name


class PoolsSpec(Spec):
    """The fake nodes and their device pools: one node, one pool, one or more ResourceSlices, and
    further kinds of pools."""

    nodes: Annotated[int, pydantic.Field(ge=1, le=NODES_MAX)] = 8
    """Number of nodes; 8 as in the upstream integration test. With `from` as many as its files have
    (times `copies`), or more if set."""
    devices_per_node: Annotated[int, pydantic.Field(ge=0, le=DEVICES_PER_NODE_MAX)] = 100
    """Devices in the pool of each node; 100 as in the upstream integration test; 0 if there are
    only pools of further kinds. With `from` 0, unless set."""
    from_: Annotated[list[str], pydantic.Field(alias="from", max_length=FILES_MAX)] = []
    """Files with ResourceSlices, as `kubectl get resourceslices,deviceclasses,nodes -o yaml` prints
    them, relative to the scenario file (in --set: to the current folder). Nodes get the names of
    all nodes here, with their labels and allocatable resources; without Nodes in the files, one is
    made for each name in the slices. DeviceTaintRules and ResourceClaimTemplates may stand there,
    too. Other kinds of pools may be described beside them."""
    copies: Annotated[int, pydantic.Field(ge=1, le=COPIES_MAX)] = 1
    """Number of nodes that each node of `from` becomes, each with its pools; pools that name no
    node stay one."""
    imported: Annotated[ImportedSpec | None, json_schema.SkipJsonSchema()] = None
    """Summary of the files of `from`; set when they are read."""
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
        more = sum(kind.offered * self.pool_count(kind) for kind in self.more)
        return self.nodes * self.devices_per_node + more + self.imported_devices

    @property
    def imported_devices(self) -> int:
        found = self.imported
        return found.own_devices * self.copies + found.other_devices if found else 0

    @property
    def imported_nodes(self) -> int:
        """The number of nodes of `from`, with all copies; they are the first ones."""
        return self.imported.nodes * self.copies if self.imported else 0

    @property
    def is_plain(self) -> bool:
        return not (self.more or self.from_)

    @property
    def drivers(self) -> list[str]:
        described = [self.driver] if self.is_described or not self.imported else []
        further = [kind.driver or self.driver for kind in self.more]
        of_files = self.imported.drivers if self.imported else ()
        return list(dict.fromkeys([*described, *further, *of_files]))

    @property
    def is_described(self) -> bool:
        return self.devices_per_node > 0

    def has(self, feature: Feature) -> bool:
        described = {
            "binding-conditions": any(kind.binding_conditions for kind in self.more),
            "counters": any(kind.has_counters for kind in self.more),
            "several-nodes": any(kind.is_of_cluster for kind in self.more),
            "shares": any(kind.shared for kind in self.more),
            "taints": any(kind.taints for kind in self.more),
        }
        return described.get(feature, False) or feature in getattr(self.imported, "has", ())

    @property
    def evicts(self) -> bool:
        """True if devices get NoExecute taints, or may have some of files.

        A controller evicts the pods that use them.
        """
        effects = [taint.effect for kind in self.more for taint in kind.taints]
        effects += [item.effect for item in self.changes if isinstance(item, pool_changes.Taint)]
        of_files = {"taints", "taint-rules"} & {*getattr(self.imported, "has", ())}
        return "NoExecute" in effects or bool(of_files)

    def pool_count(self, kind: pool_kind_specs.PoolKindSpec) -> int:
        return {"node": self.nodes, "zone": self.zones}.get(kind.place, 1)

    def class_of(self, kind_name: str) -> str:
        base = self.device_class.name
        return f"{base}-{kind_name}" if kind_name else base

    @property
    def class_names(self) -> list[str]:
        described = [self.class_of(name) for name in ("", *(kind.name for kind in self.more))]
        of_files = self.imported.classes if self.imported else ()
        return [*described, *map(self.imported_class, of_files)]

    @property
    def extended_resources(self) -> dict[str, str]:
        """Name of an extended resource -> the DeviceClass that backs it."""
        implicit = {IMPLICIT_RESOURCE_PREFIX + name: name for name in self.class_names}
        of_files = self.imported.classes if self.imported else {}
        named = {
            self.imported_resource(resource): self.imported_class(name)
            for name, resource in of_files.items()
            if resource
        }
        return implicit | named | {self.device_class.requested_resource: self.device_class.name}

    def is_of_files(self, class_name: str, kind_name: str) -> bool:
        """Return whether requests of a class of `from`, or of a kind, are for devices of files.

        The class of all devices (both empty) selects those of files if no others are described.
        """
        return bool(class_name) or not (kind_name or self.is_described or self.more)

    def imported_class(self, name: str) -> str:
        return f"{name}-{self.owner}" if self.owner else name

    def imported_resource(self, name: str) -> str:
        return f"{self.owner}.{name}" if self.owner else name

    @pydantic.model_validator(mode="after")
    def _require_pools(self) -> Self:
        names = [kind.name for kind in self.more]
        if len(set(names)) < len(names):
            raise ValueError(f"more: expected each name once, got {', '.join(names)}")
        if self.copies > 1 and not self.from_:
            raise ValueError(f"copies: expected 1 without from, got {self.copies}")
        if self.from_ and self.published_by == "driver":
            raise ValueError("published_by: expected 'run' with from, got 'driver'")
        if not (self.devices_per_node or self.more or self.from_):
            raise ValueError("expected devices_per_node of at least 1 without more, got 0")
        if self.device_class.parameters and self.more:
            raise ValueError(
                "device_class.parameters: expected none with more, whose classes have none"
            )
        if self.zones > self.nodes and (self.imported or not self.from_):
            raise ValueError(f"zones: expected at most nodes = {self.nodes}, got {self.zones}")
        if not self.zones and any(kind.place == "zone" for kind in self.more):
            raise ValueError("zones: expected at least 1 for pools in zones, got 0")
        return self
