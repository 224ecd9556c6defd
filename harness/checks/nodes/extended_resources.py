"""The devices that a pod needs for extended resources, for which it names no claim.

Only the resource that the class of the run's claims backs is known to an observer; the scheduler
makes the claim for it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from harness.checks.observed import observed_claims, observed_pods

_IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


class ExtendedResource:
    """The extended resource that the class of the run's claims backs."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """`settings` are those of the plan."""
        offered = (settings.get("pools") or {}).get("device_class") or {}
        self._class: str = offered.get("name") or ""
        implicit = _IMPLICIT_PREFIX + self._class
        self.names = {implicit, offered.get("extended_resource") or implicit}
        """Its name, and the one that its class has without being told."""

    @property
    def kind(self) -> tuple[str, ...]:
        """The kind of its requests, as `observed_claims.ExactRequest.kind`."""
        return (self._class,)

    def devices_for(self, pod: observed_pods.Pod) -> int:
        """Return how many devices the containers of a pod need together.

        An init container ends before the containers begin, and uses the devices of those after it.
        """
        init = pod.spec.init_containers or []
        later = sum(map(self.amount, pod.spec.containers or ()))
        extra = 0
        for container in reversed(init):
            if container.restart_policy == "Always":
                later += self.amount(container)
            else:
                extra = max(extra, self.amount(container) - later)
        return later + extra

    def amount(self, container: observed_pods.Container) -> int:
        """Return the amount; 0 for a quantity with a suffix, which users of a run do not write."""
        requests = container.resources.requests or {}
        texts = [str(requests.get(name, "0")) for name in self.names]
        return sum(int(text) for text in texts if text.isdecimal())


def claims_by_pod(
    claims: Iterable[observed_claims.Claim],
) -> dict[str, observed_claims.Claim]:
    """Return the claims that the scheduler made for extended resources, by UID of their pods."""
    return {
        claim.metadata.owner: claim
        for claim in claims
        if claim.metadata.owner and is_made_for_one(claim)
    }


def is_made_for_one(claim: observed_claims.Claim) -> bool:
    """Return whether the scheduler made the claim for an extended resource."""
    return _ANNOTATION in (claim.metadata.annotations or {})
