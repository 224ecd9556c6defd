"""The slices, rules, nodes, classes and templates that were observed, as far as checks read."""

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec

from harness.checks.observed import observed_claims, observed_metadata
from harness.model import devices

BLOCKING = ("NoSchedule", "NoExecute")
"""The effects of taints that keep a device from being allocated."""


class Taint(observed_metadata.Part, frozen=True):
    """A taint of a device."""

    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: str | None = None

    @property
    def is_blocking(self) -> bool:
        return self.effect in BLOCKING


def tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    """Return whether a toleration, as JSON, tolerates a taint.

    An empty effect or key is that of any taint; the operator is Equal unless it is Exists.
    """
    if toleration.get("effect") not in (None, "", taint.effect):
        return False
    key, operator = toleration.get("key") or "", toleration.get("operator") or "Equal"
    if key not in ("", taint.key):
        return False
    if operator == "Exists":
        return True
    return bool(key) and operator == "Equal" and (toleration.get("value") or "") == taint.value


class ValidRange(observed_metadata.Part, frozen=True):
    """The `validRange` of a request policy, in quantities."""

    min: str | None = None
    max: str | None = None
    step: str | None = None


class RequestPolicy(observed_metadata.Part, frozen=True):
    """How requests consume a capacity, in quantities."""

    default: str | None = None
    valid_values: list[str] | None = None
    valid_range: ValidRange | None = None


class Amount(observed_metadata.Part, frozen=True):
    """The value of a capacity or counter, as a quantity."""

    value: str = "0"
    request_policy: RequestPolicy | None = None


class Counters(observed_metadata.Part, frozen=True):
    """Counters that a pool offers (`name`), or that a device consumes (`counter_set`)."""

    name: str = ""
    counter_set: str = ""
    counters: dict[str, Amount] = msgspec.field(default_factory=dict)


class Device(observed_metadata.Part, frozen=True):
    """A device of a slice."""

    name: str
    attributes: dict[str, Any] | None = None
    capacity: dict[str, Amount] | None = None
    taints: list[Taint] | None = None
    consumes_counters: list[Counters] | None = None
    allow_multiple_allocations: bool | None = None
    node_name: str | None = None
    node_selector: Any = None
    all_nodes: bool | None = None
    binds_to_node: bool | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None


class Pool(observed_metadata.Part, frozen=True):
    """The `pool` of a slice."""

    name: str
    generation: int = 0
    resource_slice_count: int = 1


class SliceSpec(observed_metadata.Part, frozen=True):
    """The spec of a ResourceSlice."""

    driver: str
    pool: Pool
    node_name: str = ""
    node_selector: Any = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    shared_counters: list[Counters] | None = None
    devices: list[Device] | None = None


class Slice(observed_metadata.ApiObject, frozen=True, kw_only=True):
    """A ResourceSlice."""

    KIND: ClassVar[str] = "ResourceSlice"
    spec: SliceSpec


class TaintSelector(observed_metadata.Part, frozen=True):
    """The `deviceSelector` of a DeviceTaintRule."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None

    def selects(self, device: devices.DeviceID) -> bool:
        wanted = (self.driver, self.pool, self.device)
        return all(name in (None, own) for name, own in zip(wanted, device, strict=True))


class TaintRuleSpec(observed_metadata.Part, frozen=True):
    """The spec of a DeviceTaintRule."""

    taint: Taint = Taint()
    device_selector: TaintSelector | None = None
    """None: the rule selects nothing."""


class TaintRule(observed_metadata.ApiObject, frozen=True, kw_only=True):
    """A DeviceTaintRule."""

    KIND: ClassVar[str] = "DeviceTaintRule"
    spec: TaintRuleSpec = TaintRuleSpec()


class TemplateMeta(observed_metadata.Part, frozen=True):
    """The metadata that the claims from a template get."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class TemplateSpec(observed_metadata.Part, frozen=True):
    """The spec of a ResourceClaimTemplate."""

    metadata: TemplateMeta = TemplateMeta()
    spec: Any = None
    """The spec of a claim as JSON."""


class Template(observed_metadata.ApiObject, frozen=True, kw_only=True):
    """A ResourceClaimTemplate."""

    KIND: ClassVar[str] = "ResourceClaimTemplate"
    spec: TemplateSpec = TemplateSpec()


class NodeStatus(observed_metadata.Part, frozen=True):
    """The status of a node."""

    allocatable: dict[str, Any] | None = None


class Node(observed_metadata.ApiObject, frozen=True, kw_only=True):
    """A node; its labels are in its metadata."""

    KIND: ClassVar[str] = "Node"
    metadata: observed_metadata.LabelledMeta
    status: NodeStatus = NodeStatus()


class DeviceClassSpec(observed_metadata.Part, frozen=True):
    """The spec of a DeviceClass."""

    selectors: list[Any] | None = None
    config: list[observed_claims.Config] | None = None
    extended_resource_name: str = ""


class DeviceClass(observed_metadata.ApiObject, frozen=True, kw_only=True):
    """A DeviceClass."""

    KIND: ClassVar[str] = "DeviceClass"
    spec: DeviceClassSpec = DeviceClassSpec()
