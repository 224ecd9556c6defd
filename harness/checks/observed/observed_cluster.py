"""The nodes, DeviceClasses and DeviceTaintRules that were observed, as far as checks read them."""

from typing import Any, ClassVar

from harness.checks.observed import observed_claims, observed_metadata, observed_slices
from harness.model import devices


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

    taint: observed_slices.Taint = observed_slices.Taint()
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
