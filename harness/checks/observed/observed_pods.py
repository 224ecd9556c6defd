"""The pods that were observed, as far as checks read them."""

from typing import Any, ClassVar

import msgspec

from harness.checks.observed import field_managers, observed_metadata


class ClaimEntry(observed_metadata.Part, frozen=True):
    """An entry of a pod's `spec.resourceClaims`."""

    name: str
    resource_claim_name: str | None = None
    resource_claim_template_name: str | None = None


class GeneratedClaim(observed_metadata.Part, frozen=True):
    """An entry of a pod's `status.resourceClaimStatuses`."""

    name: str
    resource_claim_name: str | None = None
    """None: the entry needs no claim."""


class UsedClaim(observed_metadata.Part, frozen=True):
    """An entry of a container's `resources.claims`."""

    name: str
    request: str = ""
    """Empty: all requests of the claim."""


class Resources(observed_metadata.Part, frozen=True):
    """The resources of a container."""

    requests: dict[str, Any] | None = None
    claims: list[UsedClaim] | None = None


class Container(observed_metadata.Part, frozen=True):
    """A container or an init container."""

    name: str = ""
    resources: Resources = Resources()
    restart_policy: str = ""


class NodeAffinity(observed_metadata.Part, frozen=True):
    """The `nodeAffinity` of a pod."""

    required: Any = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )
    """A NodeSelector as JSON; None: any node."""


class Affinity(observed_metadata.Part, frozen=True):
    """The `affinity` of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: Any = None
    pod_anti_affinity: Any = None


class SchedulingGroup(observed_metadata.Part, frozen=True):
    """A pod's `spec.schedulingGroup`."""

    pod_group_name: str = ""


class PodGroupSpec(observed_metadata.Part, frozen=True):
    """The spec of a PodGroup."""

    resource_claims: list[ClaimEntry] | None = None


class PodGroup(observed_metadata.ApiObject, frozen=True, kw_only=True):
    """A PodGroup."""

    KIND: ClassVar[str] = "PodGroup"
    spec: PodGroupSpec = PodGroupSpec()


class PodSpec(observed_metadata.Part, frozen=True):
    """The spec of a pod."""

    node_name: str = ""
    scheduler_name: str = ""
    scheduling_gates: list[Any] | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    resource_claims: list[ClaimEntry] | None = None
    scheduling_group: SchedulingGroup | None = None
    topology_spread_constraints: list[Any] | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None


class RequestMapping(observed_metadata.Part, frozen=True):
    """An entry of `requestMappings`: a container may use the devices of a request."""

    container_name: str = ""
    request_name: str = ""


class ExtendedClaim(observed_metadata.Part, frozen=True):
    """A pod's `status.extendedResourceClaimStatus`."""

    resource_claim_name: str
    request_mappings: list[RequestMapping] | None = None


class Condition(observed_metadata.Part, frozen=True):
    """A condition of a pod."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class PodStatus(observed_metadata.Part, frozen=True):
    """The status of a pod."""

    phase: str = ""
    conditions: list[Condition] | None = None
    resource_claim_statuses: list[GeneratedClaim] | None = None
    extended_resource_claim_status: ExtendedClaim | None = None


class PodMeta(observed_metadata.Meta, frozen=True):
    """The metadata of a pod."""

    managed_fields: msgspec.Raw = field_managers.ABSENT
    """JSON of the list, see `field_managers`."""


class Pod(observed_metadata.ApiObject, frozen=True, kw_only=True):
    """A pod."""

    KIND: ClassVar[str] = "Pod"
    metadata: PodMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def group(self) -> str:
        """Name of its PodGroup; empty: it has none."""
        return self.spec.scheduling_group.pod_group_name if self.spec.scheduling_group else ""

    @property
    def has_ended(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def runs(self) -> bool:
        """True for a pod whose containers run; after a reboot of its node they may not."""
        conditions = self.status.conditions or ()
        ended = any(item.type == "Ready" and item.status == "False" for item in conditions)
        return self.status.phase == "Running" and not ended

    @property
    def claim_names(self) -> dict[str, str]:
        """Entry of `spec.resourceClaims` -> name of its claim, as far as it is known."""
        made = self.status.resource_claim_statuses or ()
        generated = {item.name: item.resource_claim_name for item in made}
        entries = self.spec.resource_claims or ()
        named = {
            item.name: item.resource_claim_name or generated.get(item.name) for item in entries
        }
        return {entry: name for entry, name in named.items() if name}
