"""The summary of the objects that `pools.from` names, as plans keep it."""

from typing import Annotated, Literal, TypeAlias

import pydantic

from harness.scenario.fields import Count, Spec, Texts

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
