"""The ResourceClaims that were observed, as far as checks read them."""

from typing import Any, ClassVar

import msgspec

from harness.checks.observed import field_managers, observed_metadata


def expressions(selectors: list[Any] | None) -> list[str]:
    """Return the CEL expressions of selectors, of a request or of a class."""
    found = (item.get("cel") if isinstance(item, dict) else None for item in selectors or ())
    return [str((cel or {}).get("expression", "")) for cel in found]


class CapacityRequirements(observed_metadata.Part, frozen=True):
    """The `capacity` of a request."""

    requests: dict[str, str] | None = None


class ExactRequest(observed_metadata.Part, frozen=True):
    """The `exactly` of a DeviceRequest."""

    device_class_name: str = ""
    allocation_mode: str = "ExactCount"
    count: int = 1
    admin_access: bool = False
    selectors: list[Any] | None = None
    tolerations: list[Any] | None = None
    capacity: CapacityRequirements | None = None

    @property
    def number(self) -> int | None:
        return None if self.allocation_mode == "All" else self.count

    @property
    def expressions(self) -> list[str]:
        return expressions(self.selectors)

    @property
    def quantities(self) -> dict[str, str]:
        return (self.capacity.requests if self.capacity else None) or {}

    @property
    def kind(self) -> tuple[str, ...]:
        """The class and the selectors: requests of one kind are satisfied by the same devices."""
        return self.device_class_name, *map(str, self.selectors or ())


class SubRequest(ExactRequest, frozen=True):
    """An entry of `firstAvailable`; results name it `<request>/<name>`."""

    name: str = ""


class Request(observed_metadata.Part, frozen=True):
    """A DeviceRequest of a claim."""

    name: str = ""
    exactly: ExactRequest | None = None
    first_available: list[SubRequest] | None = None

    @property
    def options(self) -> dict[str, ExactRequest]:
        """The request, or its alternatives in order, by the names that results use: the request's,
        or `<request>/<alternative>`."""
        own = {} if self.exactly is None else {self.name: self.exactly}
        return own | {f"{self.name}/{item.name}": item for item in self.first_available or ()}


class Constraint(observed_metadata.Part, frozen=True):
    """An entry of `constraints`."""

    requests: list[str] | None = None
    """None: all requests."""
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class Opaque(observed_metadata.Part, frozen=True):
    """The `opaque` of a configuration."""

    driver: str = ""
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)


class Config(observed_metadata.Part, frozen=True):
    """A configuration, of a claim or of its class."""

    requests: list[str] | None = None
    opaque: Opaque = Opaque()


class AllocatedConfig(Config, frozen=True):
    """A configuration of an allocation."""

    source: str = ""
    """`FromClass` or `FromClaim`."""


class DeviceClaim(observed_metadata.Part, frozen=True):
    """The devices that a claim asks for."""

    requests: list[Request] | None = None
    constraints: list[Constraint] | None = None
    config: list[Config] | None = None

    @property
    def options(self) -> dict[str, ExactRequest]:
        return {
            name: option
            for request in self.requests or ()
            for name, option in request.options.items()
        }

    def option(self, name: str) -> ExactRequest | None:
        """Return the request that a result names, or the alternative `<request>/<alternative>`."""
        first, _, alternative = name.partition("/")
        for request in self.requests or ():
            if request.name != first:
                continue
            if not alternative:
                return request.exactly
            found = (item for item in request.first_available or () if item.name == alternative)
            return next(found, None)
        return None


class ClaimSpec(observed_metadata.Part, frozen=True):
    """The spec of a claim."""

    devices: DeviceClaim = DeviceClaim()


class AllocationResult(observed_metadata.Part, frozen=True):
    """One device of an allocation."""

    driver: str
    pool: str
    device: str
    request: str = ""
    admin_access: bool | None = None
    share: str | None = msgspec.field(default=None, name="shareID")
    consumed_capacity: dict[str, str] | None = None
    tolerations: list[Any] | None = None
    binding_conditions: list[str] | None = None
    binding_failure_conditions: list[str] | None = None

    @property
    def id(self) -> str:
        """`driver/pool/device`."""
        return f"{self.driver}/{self.pool}/{self.device}"

    @property
    def is_exclusive(self) -> bool:
        """True if it gives its device to one claim alone; an empty `shareID` counts as unset."""
        return not (self.admin_access or self.share)


class AllocatedDevices(observed_metadata.Part, frozen=True):
    """The devices of an allocation."""

    results: list[AllocationResult] = msgspec.field(default_factory=list)
    config: list[AllocatedConfig] | None = None


class Allocation(observed_metadata.Part, frozen=True):
    """The `status.allocation` of a claim."""

    devices: AllocatedDevices = AllocatedDevices()
    node_selector: Any = None
    """A NodeSelector as JSON; None: any node."""


class Consumer(observed_metadata.Part, frozen=True):
    """An entry of `status.reservedFor`."""

    name: str
    uid: str = ""
    resource: str = ""
    api_group: str = ""
    """Empty: the core API."""


class Condition(observed_metadata.Part, frozen=True):
    """A condition that a driver reports about a device."""

    type: str
    status: str = ""


class DeviceStatus(observed_metadata.Part, frozen=True):
    """An entry of `status.devices`."""

    driver: str
    pool: str
    device: str
    share: str | None = msgspec.field(default=None, name="shareID")
    conditions: list[Condition] | None = None
    data: Any = None
    network_data: Any = None


class ClaimStatus(observed_metadata.Part, frozen=True):
    """The status of a claim."""

    allocation: Allocation | None = None
    reserved_for: list[Consumer] | None = None
    devices: list[DeviceStatus] | None = None


class ClaimMeta(observed_metadata.Meta, frozen=True):
    """The metadata of a claim; its managed fields are decoded only if they are asked for."""

    managed_fields: msgspec.Raw = field_managers.ABSENT
    """JSON of the list, see `field_managers`."""


class Claim(observed_metadata.ApiObject, frozen=True, kw_only=True):
    """A ResourceClaim."""

    KIND: ClassVar[str] = "ResourceClaim"
    metadata: ClaimMeta
    spec: ClaimSpec = ClaimSpec()
    status: ClaimStatus = ClaimStatus()

    @property
    def results(self) -> list[AllocationResult]:
        return self.status.allocation.devices.results if self.status.allocation else []

    @property
    def pods(self) -> set[str]:
        """UIDs of the pods that it was generated for, or is reserved for."""
        users = {item.uid for item in self.status.reserved_for or () if item.resource == "pods"}
        owner = self.metadata.owner
        return users if owner is None else {*users, owner}

    @property
    def manager(self) -> str:
        """Field manager of `status.allocation`; empty if it is not known."""
        return field_managers.owner(self.metadata.managed_fields, "status", "allocation")
