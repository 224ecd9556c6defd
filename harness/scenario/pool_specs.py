"""The keys of `pools` in a scenario file: fake nodes, devices, and the class of the claims."""

from typing import Annotated, TypeAlias

import pydantic

from harness.scenario.fields import Name, ParameterName, Spec

NODES_MAX = 5000
"""The documented limit of Kubernetes."""
DEVICES_MAX = 1_000_000
"""Devices on all nodes together."""
DEVICES_PER_NODE_MAX = 1280
"""Ten ResourceSlices of 128 devices."""
IMPLICIT_RESOURCE_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Prefix of the extended resource that every class backs; the name of the class follows."""


def _require_attribute(value: object) -> object:
    is_small = not isinstance(value, int) or -(2**63) <= value < 2**63
    if isinstance(value, bool | int | str) and is_small:
        return value
    raise ValueError(f"expected true, false, a whole number of 64 bits or text, got {value!r:.60}")


AttributeValue: TypeAlias = Annotated[
    bool | int | str, pydantic.BeforeValidator(_require_attribute)
]


class DeviceClassSpec(Spec):
    """The DeviceClass that claims request."""

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
    """The fake nodes and their device pools: one node, one pool, one or more ResourceSlices."""

    nodes: Annotated[int, pydantic.Field(ge=1, le=NODES_MAX)] = 8
    """Number of nodes; 8 as in the upstream integration test."""
    devices_per_node: Annotated[int, pydantic.Field(ge=1, le=DEVICES_PER_NODE_MAX)] = 100
    """Devices in each pool; 100 as in the upstream integration test."""
    driver: Annotated[str, pydantic.Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,60}[a-z0-9])?$")] = (
        "gpu.flake-hunt.example"
    )
    """Name of the DRA driver."""
    attributes: dict[str, AttributeValue] = {"model": "fake"}
    """Attributes of every device, for CEL selectors."""
    capacity: dict[str, str] = {}
    """Capacities of every device as quantities, for CEL selectors."""
    node_prefix: Annotated[str, pydantic.Field(pattern=r"^[a-z0-9][-a-z0-9]{0,47}$")] = "worker-"
    """Prefix of node names; on a cluster with other users, a run inserts its id."""
    owner: str = ""
    """Value of an attribute `owner` of every device, which the class selects, so that runs on one
    cluster do not share devices. Set by the run on clusters with other users; empty: none."""
    device_class: DeviceClassSpec = DeviceClassSpec()
    """The class of the claims."""
