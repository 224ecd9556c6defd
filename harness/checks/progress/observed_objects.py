"""The pods, claims and slices that were observed, as far as the judges of progress read them."""

from typing import Any, ClassVar, TypeAlias

import msgspec

from harness.checks import verdicts
from harness.model import devices


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A part of an API object; fields that no check reads are left out."""


class Owner(Part, frozen=True):
    """An entry of `metadata.ownerReferences`."""

    uid: str
    kind: str = ""
    controller: bool = False


class Meta(Part, frozen=True):
    """The metadata of an object."""

    name: str
    uid: str
    resource_version: str
    namespace: str = ""
    deletion_timestamp: str | None = None
    finalizers: list[str] | None = None
    owner_references: list[Owner] | None = None
    annotations: dict[str, str] | None = None

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def owner(self) -> str | None:
        """UID of the pod that the object was generated for; None: a user created it."""
        owners = self.owner_references or ()
        return next((item.uid for item in owners if item.controller and item.kind == "Pod"), None)


class _Object(Part, frozen=True):
    KIND: ClassVar[str]
    metadata: Meta

    @property
    def involved(self) -> verdicts.InvolvedObject:
        """The object as it is named in a violation."""
        meta = self.metadata
        return verdicts.InvolvedObject(
            kind=self.KIND, namespace=meta.namespace, name=meta.name, uid=meta.uid
        )


class TaintRule(_Object, frozen=True):
    """A DeviceTaintRule; that it exists is all that a check of progress needs."""

    KIND: ClassVar[str] = "DeviceTaintRule"


class ClaimEntry(Part, frozen=True):
    """An entry of a pod's `spec.resourceClaims`."""

    name: str
    resource_claim_name: str | None = None


class GeneratedClaim(Part, frozen=True):
    """An entry of a pod's `status.resourceClaimStatuses`."""

    name: str
    resource_claim_name: str | None = None
    """None: the entry needs no claim."""


class Resources(Part, frozen=True):
    """The resources of a container."""

    requests: dict[str, Any] | None = None


class Container(Part, frozen=True):
    """A container or an init container."""

    name: str = ""
    resources: Resources = Resources()
    restart_policy: str = ""


class PodSpec(Part, frozen=True):
    """The spec of a pod."""

    node_name: str = ""
    scheduling_gates: list[Any] | None = None
    resource_claims: list[ClaimEntry] | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None


class RequestMapping(Part, frozen=True):
    """An entry of `requestMappings`: a container may use the devices of a request."""

    container_name: str = ""
    request_name: str = ""


class ExtendedClaim(Part, frozen=True):
    """A pod's `status.extendedResourceClaimStatus`."""

    resource_claim_name: str
    request_mappings: list[RequestMapping] | None = None


class PodStatus(Part, frozen=True):
    """The status of a pod."""

    phase: str = ""
    resource_claim_statuses: list[GeneratedClaim] | None = None
    extended_resource_claim_status: ExtendedClaim | None = None


class Pod(_Object, frozen=True):
    """A pod."""

    KIND: ClassVar[str] = "Pod"
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def has_ended(self) -> bool:
        """True for a pod that will not run any more."""
        return self.status.phase in ("Succeeded", "Failed")


class ExactRequest(Part, frozen=True):
    """The `exactly` of a DeviceRequest."""

    device_class_name: str = ""
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool = False
    selectors: list[Any] | None = None
    capacity: Any = None

    @property
    def is_plain_count(self) -> bool:
        """True for a request of a number of whole devices."""
        return self.allocation_mode == "ExactCount" and not self.capacity

    @property
    def kind(self) -> tuple[str, ...]:
        """The class and the selectors: requests of one kind are satisfied by the same devices."""
        return self.device_class_name, *map(str, self.selectors or ())


class Request(Part, frozen=True):
    """A DeviceRequest of a claim."""

    name: str = ""
    exactly: ExactRequest | None = None


class DeviceClaim(Part, frozen=True):
    """The devices that a claim asks for."""

    requests: list[Request] | None = None
    constraints: list[Any] | None = None


class ClaimSpec(Part, frozen=True):
    """The spec of a claim."""

    devices: DeviceClaim = DeviceClaim()


class AllocationResult(Part, frozen=True):
    """One device of an allocation."""

    driver: str
    pool: str
    device: str
    request: str = ""
    admin_access: bool | None = None
    share: str | None = msgspec.field(default=None, name="shareID")

    @property
    def id(self) -> str:
        """`driver/pool/device`."""
        return str(devices.DeviceID(self.driver, self.pool, self.device))


class AllocatedDevices(Part, frozen=True):
    """The devices of an allocation."""

    results: list[AllocationResult] = []


class Allocation(Part, frozen=True):
    """The `status.allocation` of a claim."""

    devices: AllocatedDevices = AllocatedDevices()


class Consumer(Part, frozen=True):
    """An entry of `status.reservedFor`."""

    name: str
    uid: str = ""
    resource: str = ""


class ClaimStatus(Part, frozen=True):
    """The status of a claim."""

    allocation: Allocation | None = None
    reserved_for: list[Consumer] | None = None


class Claim(_Object, frozen=True):
    """A ResourceClaim."""

    KIND: ClassVar[str] = "ResourceClaim"
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def results(self) -> list[AllocationResult]:
        """The allocated devices; empty without an allocation."""
        return self.status.allocation.devices.results if self.status.allocation else []


class Pool(Part, frozen=True):
    """The `pool` of a slice."""

    name: str
    generation: int = 0
    resource_slice_count: int = 1


class SliceSpec(Part, frozen=True):
    """The spec of a ResourceSlice."""

    driver: str
    pool: Pool
    node_name: str = ""
    shared_counters: list[Any] | None = None
    per_device_node_selection: bool | None = None
    devices: list[dict[str, Any]] | None = None


class Slice(_Object, frozen=True):
    """A ResourceSlice."""

    KIND: ClassVar[str] = "ResourceSlice"
    spec: SliceSpec


Object: TypeAlias = Pod | Claim | Slice
