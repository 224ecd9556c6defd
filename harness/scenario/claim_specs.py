"""The keys of `claim` and `[[claims]]` in a scenario file: the requests of claims."""

from typing import Annotated, Literal, Self

import pydantic

from harness.scenario.fields import Name, ParameterName, Quantity, Spec

DEVICES_MAX = 32
"""The API's limit for the results of a claim."""
REQUESTS_MAX = 32
"""The API's limit for requests, and for constraints."""
ALTERNATIVES_MAX = 8
"""The API's limit for `firstAvailable`."""
REQUEST = "device"
"""Name of the only request of a claim without `requests`."""


class TolerationSpec(Spec):
    """A toleration of taints of devices."""

    key: str = ""
    """Key of the taint; empty: any."""
    operator: Literal["Equal", "Exists"] = "Exists"
    """`Equal` compares the value, `Exists` does not."""
    value: str = ""
    """Value of the taint, for `Equal`."""
    effect: Literal["", "NoSchedule", "NoExecute"] = ""
    """Effect of the taint; empty: any."""
    seconds: Annotated[int, pydantic.Field(ge=0, le=86_400)] | None = None
    """Seconds after a NoExecute taint for which a pod may still use the device, for that effect;
    None: for ever."""

    @pydantic.model_validator(mode="after")
    def _require_effect(self) -> Self:
        if self.seconds is not None and self.effect != "NoExecute":
            raise ValueError(
                f'expected effect = "NoExecute" beside seconds, got effect = "{self.effect}": the API '
                "ignores the seconds of any other toleration"
            )
        return self


class AlternativeSpec(Spec):
    """Devices of one kind: an alternative in `first_available`, or a whole request."""

    name: Name
    """Name of the request or the alternative."""
    pool: str = ""
    """Name of the kind in `[[pools.more]]`, whose DeviceClass is requested; empty: the class of
    all devices."""
    class_: Annotated[str, pydantic.Field(alias="class", max_length=253)] = ""
    """Name of a DeviceClass in the files of `pools.from`, instead of `pool`."""
    devices: Annotated[int, pydantic.Field(ge=1, le=DEVICES_MAX)] = 1
    """Number of devices (ExactCount)."""
    all: bool = False
    """All devices that match, instead of a number of them."""
    selectors: list[str] = []
    """CEL expressions."""
    capacity: dict[str, Quantity] = {}
    """Amounts of the capacities; of a shared device, its share."""
    tolerations: Annotated[list[TolerationSpec], pydantic.Field(max_length=16)] = []
    """Taints of devices that do not matter."""

    @pydantic.model_validator(mode="after")
    def _require_one_amount(self) -> Self:
        if self.class_ and self.pool:
            raise ValueError(f"{self.name}: expected either class or pool, got both: remove one")
        if self.all and self.devices != 1:
            raise ValueError(
                f"{self.name}: expected either devices or all = true, got both: remove devices"
            )
        return self


class RequestSpec(AlternativeSpec):
    """A request of a claim."""

    admin_access: bool = False
    """Request admin access, which is never a double allocation."""
    first_available: Annotated[
        list[AlternativeSpec], pydantic.Field(max_length=ALTERNATIVES_MAX)
    ] = []
    """Alternatives, the best one first, instead of the other keys; empty: there is no choice."""

    @property
    def alternatives(self) -> list[AlternativeSpec]:
        return self.first_available or [self]

    @pydantic.model_validator(mode="after")
    def _require_only_alternatives(self) -> Self:
        if self.first_available and _differs(self, but={"name", "first_available"}):
            raise ValueError(
                f"{self.name}: expected first_available alone, got other keys beside it: move them "
                "into its alternatives"
            )
        return self


class ConstraintSpec(Spec):
    """A constraint for the devices of a claim."""

    match_attribute: str = ""
    """`<domain>/<name>` of an attribute whose value must be the same; a name without a domain gets
    that of the driver."""
    distinct_attribute: str = ""
    """The same, of an attribute whose values must differ."""
    requests: list[str] = []
    """Names of the requests, or `request/alternative`; empty: all."""

    @pydantic.model_validator(mode="after")
    def _require_one_attribute(self) -> Self:
        if bool(self.match_attribute) == bool(self.distinct_attribute):
            raise ValueError("expected either match_attribute or distinct_attribute")
        return self


class ClaimSpec(Spec):
    """The request of each claim, or several requests."""

    devices: Annotated[int, pydantic.Field(ge=1, le=DEVICES_MAX)] = 1
    """Devices in an exact-count request; the API allows 32 results."""
    class_: Annotated[str, pydantic.Field(alias="class", max_length=253)] = ""
    """Name of a DeviceClass in the files of `pools.from`; empty: that of `pools.device_class`."""
    selectors: list[str] = []
    """CEL expressions of the request."""
    admin_access: bool = False
    """Request admin access, which is never a double allocation."""
    extended: bool = False
    """The containers request the class's extended resource (`pools.device_class`), and the
    scheduler creates the claim; no user creates a claim or a template."""
    requests: Annotated[list[RequestSpec], pydantic.Field(max_length=REQUESTS_MAX)] = []
    """The requests, instead of the keys above; empty: one, with the keys above."""
    constraints: Annotated[list[ConstraintSpec], pydantic.Field(max_length=REQUESTS_MAX)] = []
    """Constraints that the devices satisfy together."""
    annotations: Annotated[dict[str, str], pydantic.Field(max_length=8)] = {}
    """Annotations of the claim, and of what a template says of its claims."""
    parameters: dict[ParameterName, str] = {}
    """Opaque parameters for the driver, for all requests; containers get each as `user_<key>` in
    their environment. `{claim}` in a value stands for the claim's name (of a generated claim: its
    template's)."""

    @property
    def asked(self) -> list[RequestSpec]:
        if self.requests:
            return self.requests
        request = RequestSpec(
            name=REQUEST,
            devices=self.devices,
            selectors=self.selectors,
            admin_access=self.admin_access,
        )
        return [request.model_copy(update={"class_": self.class_})]

    @property
    def least_devices(self) -> int:
        return sum(
            min(1 if item.all else item.devices for item in request.alternatives)
            for request in self.asked
        )

    @property
    def most_devices(self) -> int:
        most = sum(
            max(DEVICES_MAX if item.all else item.devices for item in request.alternatives)
            for request in self.asked
        )
        return min(most, DEVICES_MAX)

    @property
    def is_plain(self) -> bool:
        return not (self.requests or self.constraints or self.class_)

    @property
    def has_admin_access(self) -> bool:
        return any(request.admin_access for request in self.asked)

    @pydantic.model_validator(mode="after")
    def _require_consistent(self) -> Self:
        if self.requests and _differs(
            self, but={"requests", "constraints", "parameters", "annotations", "weight"}
        ):
            raise ValueError(
                "expected requests without class, devices, selectors and admin_access beside them: move "
                "them into the requests"
            )
        if (least := self.least_devices) > DEVICES_MAX:
            raise ValueError(f"expected at most {DEVICES_MAX} devices of all requests, got {least}")
        return self


class ClaimKindSpec(ClaimSpec):
    """One of several kinds of claims in a scenario."""

    weight: Annotated[int, pydantic.Field(ge=1, le=100)] = 1
    """Number of claims of this kind in each round."""


def _differs(spec: Spec, *, but: set[str]) -> bool:
    fields = type(spec).model_fields
    return any(
        getattr(spec, key) != field.default for key, field in fields.items() if key not in but
    )
