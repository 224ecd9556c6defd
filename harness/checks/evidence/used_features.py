"""Which parts of Dynamic Resource Allocation a run used, and the checks that are about them.

Read from the objects themselves, so that it does not matter whether a scenario describes them or
brings manifests. A guarantee about something that was used is one that the scenario asked for.
"""

from collections.abc import Iterator

from harness.checks.observed import (
    folders,
    observations,
    observed_pods,
)

CHECKS = {
    "constraints": ("claim_constraints",),
    "alternatives": ("requested_results",),
    "shares": ("granted_shares", "device_consumption"),
    "counters": ("device_consumption",),
    "taints": ("tainted_devices",),
    "admin access": ("granted_access",),
    "binding conditions": ("device_readiness",),
    "extended resources": ("extended_claims",),
}
"""Feature -> names of the checks that are about it."""
_IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


class UsedFeatures(folders.Folder):
    """The features of CHECKS that claims, slices, rules, classes and pods have used so far."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self._resources: set[str] = set()
        """Names of resources that pods ask for."""
        self._extended: set[str] = set()
        """Names of extended resources that classes back."""

    @property
    def asked(self) -> frozenset[str]:
        used = self.seen | ({"extended resources"} if self._has_extended() else set())
        return frozenset(name for feature in used for name in CHECKS[feature])

    def _has_extended(self) -> bool:
        implicit = any(name.startswith(_IMPLICIT_PREFIX) for name in self._resources)
        return implicit or not self._resources.isdisjoint(self._extended)

    def see_new_claim(self, seen: observations.SeenClaim) -> None:
        spec = seen.object.spec.devices
        self._note("constraints", spec.constraints)
        for request in spec.requests or ():
            self._note("alternatives", request.first_available)
            self._note("admin access", request.exactly and request.exactly.admin_access)

    def see_slice(self, seen: observations.SeenSlice) -> None:
        for device in seen.object.spec.devices or ():
            self._note("shares", device.allow_multiple_allocations)
            self._note("counters", device.consumes_counters)
            self._note("binding conditions", device.binding_conditions)
            self._note("taints", any(taint.is_blocking for taint in device.taints or ()))

    def see_taint_rule(self, seen: observations.SeenTaintRule) -> None:
        self._note("taints", seen.object.spec.taint.is_blocking)

    def see_class(self, seen: observations.SeenClass) -> None:
        self._extended.add(seen.object.spec.extended_resource_name)

    def _note(self, feature: str, is_used: object) -> None:
        if is_used:
            self.seen.add(feature)

    def see_pod(self, seen: observations.SeenPod) -> None:
        if seen.type in ("ADDED", "LISTED"):
            self._resources.update(_resources(seen.object.spec))


def _resources(spec: observed_pods.PodSpec) -> Iterator[str]:
    for container in (*(spec.containers or ()), *(spec.init_containers or ())):
        yield from container.resources.requests or ()
