"""The devices that a pod needs for extended resources, for which it names no claim.

The plan says which classes back which resources; the scheduler makes the claim for them.
"""

from collections.abc import Collection, Mapping
from typing import Any

from harness.checks import plan_facts
from harness.checks.observed import observed_pods

_IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


class ExtendedResource:
    """The extended resources that the classes of the run back."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        pools = settings.get("pools") or {}
        offered = pools.get("device_class") or {}
        classes = _of_files(pools) | {offered.get("name") or "": offered.get("extended_resource")}
        self.names = {
            name: {_IMPLICIT_PREFIX + name, *filter(None, [resource])}
            for name, resource in classes.items()
        }
        """Class -> the names of its extended resources."""

    def kinds_for(self, pod: observed_pods.Pod) -> dict[tuple[str, ...], int]:
        """Return how many devices the containers of a pod need together, of each class that they
        need any of, as `observed_claims.ExactRequest.kind`.

        An init container ends before the containers begin, and uses the devices of those after it.
        """
        counts = {name: self._devices_for(pod, names) for name, names in self.names.items()}
        return {(name,): count for name, count in counts.items() if count}

    def devices_for(self, pod: observed_pods.Pod) -> int:
        """Return how many devices the containers of a pod need together, of all classes."""
        return sum(self.kinds_for(pod).values())

    def amount(self, container: observed_pods.Container) -> int:
        """Return the number of devices that a container asks for."""
        return sum(_amount(container, names) for names in self.names.values())

    def _devices_for(self, pod: observed_pods.Pod, names: Collection[str]) -> int:
        later = sum(_amount(item, names) for item in pod.spec.containers or ())
        extra = 0
        for container in reversed(pod.spec.init_containers or []):
            amount = _amount(container, names)
            if container.restart_policy == "Always":
                later += amount
            else:
                extra = max(extra, amount - later)
        return later + extra


def _amount(container: observed_pods.Container, names: Collection[str]) -> int:
    """Return the amount; 0 for a quantity with a suffix, which users of a run do not write."""
    requests = container.resources.requests or {}
    texts = [str(requests.get(name, "0")) for name in names]
    return sum(int(text) for text in texts if text.isdecimal())


def _of_files(pools: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the classes of `pools.from` and their resources by the names in the cluster.

    With other users, a run inserts its id into both.
    """
    found: dict[str, str | None] = plan_facts.imported(pools).get("classes") or {}
    if not (owner := pools.get("owner")):
        return found
    return {f"{name}-{owner}": text and f"{owner}.{text}" for name, text in found.items()}
