"""The devices that a pod needs for extended resources, for which it names no claim.

The plan says which classes back which resources; the scheduler makes the claim for them.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from harness.checks.observed import observed_claims, observed_pods

_IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


class ExtendedResource:
    """The extended resources that the classes of the run back."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        pools = settings.get("pools") or {}
        offered = pools.get("device_class") or {}
        known = _of_files(pools)
        own = {offered.get("name") or "": offered.get("extended_resource") or ""}
        self._names: dict[str, set[str]] = {
            name: {_IMPLICIT_PREFIX + name, *filter(None, [resource])}
            for name, resource in (known | own).items()
        }
        """Class -> the names of its extended resources."""

    @property
    def names(self) -> set[str]:
        return {name for names in self._names.values() for name in names}

    def kinds_for(self, pod: observed_pods.Pod) -> dict[tuple[str, ...], int]:
        """Return how many devices the containers of a pod need together, of each class that they
        need any of, as `observed_claims.ExactRequest.kind`."""
        counts = {name: self._devices_for(pod, [name]) for name in self._names}
        return {(name,): count for name, count in counts.items() if count}

    def devices_for(self, pod: observed_pods.Pod) -> int:
        """Return how many devices the containers of a pod need together, of all classes."""
        return sum(self.kinds_for(pod).values())

    def amount(self, container: observed_pods.Container) -> int:
        """Return the number of devices that a container asks for."""
        return self._amount(container, self._names)

    def _devices_for(self, pod: observed_pods.Pod, classes: Iterable[str]) -> int:
        """Return the devices of some classes.

        An init container ends before the containers begin, and uses the devices of those after it.
        """
        names = list(classes)
        later = sum(self._amount(item, names) for item in pod.spec.containers or ())
        extra = 0
        for container in reversed(pod.spec.init_containers or []):
            amount = self._amount(container, names)
            if container.restart_policy == "Always":
                later += amount
            else:
                extra = max(extra, amount - later)
        return later + extra

    def _amount(self, container: observed_pods.Container, classes: Iterable[str]) -> int:
        """Return the amount; 0 for a quantity with a suffix, which users of a run do not write."""
        requests = container.resources.requests or {}
        texts = [str(requests.get(name, "0")) for one in classes for name in self._names[one]]
        return sum(int(text) for text in texts if text.isdecimal())


def _of_files(pools: Mapping[str, Any]) -> dict[str, str]:
    """Return the classes of `pools.from` and their resources by the names in the cluster.

    With other users, a run inserts its id into both.
    """
    found: dict[str, str] = (pools.get("imported") or {}).get("classes") or {}
    if not (owner := pools.get("owner")):
        return found
    return {f"{name}-{owner}": text and f"{owner}.{text}" for name, text in found.items()}


def claims_by_pod(
    claims: Iterable[observed_claims.Claim],
) -> dict[str, observed_claims.Claim]:
    return {
        claim.metadata.owner: claim
        for claim in claims
        if claim.metadata.owner and is_made_for_one(claim)
    }


def is_made_for_one(claim: observed_claims.Claim) -> bool:
    return _ANNOTATION in (claim.metadata.annotations or {})
