"""The extended resources that pods ask for, and the device requests that are made of them.

After extendeddynamicresources.go. Each container has requests of its own; init containers use what
later containers have.
"""

import collections
import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from harness.model.objects import Object
from harness.subject.objects import quantities

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Prefix of the extended resource that every class backs; the name of the class follows."""


def is_extended(name: str) -> bool:
    """Return whether a resource may be backed by devices: `example.com/gpu`, or an implicit one."""
    if name.startswith(IMPLICIT_PREFIX):
        return True
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def of_container(container: Object) -> dict[str, int]:
    """Return what one container asks for, without zeros."""
    requests = (container.get("resources") or {}).get("requests") or {}
    amounts = {
        name: int(quantities.parse(str(value)).amount)
        for name, value in requests.items()
        if is_extended(name)
    }
    return {name: amount for name, amount in amounts.items() if amount}


def of_pod(pod: Object) -> dict[str, int]:
    """Return what a pod needs at the most at any time, without zeros."""
    spec = pod["spec"]
    if not any(map(of_container, [*spec["containers"], *(spec.get("initContainers") or ())])):
        return {}  # as nearly every pod
    running: collections.Counter[str] = collections.Counter()
    sidecars, highest = running.copy(), running.copy()
    for container in spec["containers"]:
        running += collections.Counter(of_container(container))
    for container in spec.get("initContainers") or ():
        amounts = collections.Counter(of_container(container))
        highest |= sidecars + amounts
        if is_sidecar(container):
            sidecars += amounts
    return dict(highest | (running + sidecars))


def is_sidecar(init_container: Object) -> bool:
    return bool(init_container.get("restartPolicy") == "Always")


@dataclasses.dataclass(frozen=True, slots=True)
class _Want:
    """The amount that a container asks for, with its index among all containers."""

    index: int
    spec: Object
    amount: int
    is_short_lived: bool

    def request_name(self, resource: str) -> str:
        """Return the name of its request: with its index, and that of the resource in it."""
        names = sorted(self.spec["resources"]["requests"])
        return f"container-{self.index}-request-{names.index(resource)}"


def for_pod(pod: Object, classes: Mapping[str, str]) -> tuple[list[Object], list[Object]]:
    """Return the device requests by name, and the `requestMappings` of the pod's status."""
    requests: list[Object] = []
    mappings: list[Object] = []
    for resource in sorted(classes):
        counts, uses = _requests(resource, list(_wants(pod, resource)))
        requests += [
            _device_request(name, classes[resource], count) for name, count in counts.items()
        ]
        mappings += [
            {"containerName": want.spec["name"], "resourceName": resource, "requestName": name}
            for want, name in uses
        ]
    return sorted(requests, key=lambda request: str(request["name"])), mappings


def _wants(pod: Object, resource: str) -> Iterator[_Want]:
    init = pod["spec"].get("initContainers") or []
    for index, container in enumerate([*init, *pod["spec"]["containers"]]):
        if amount := of_container(container).get(resource):
            is_short_lived = index < len(init) and not is_sidecar(container)
            yield _Want(index, container, amount, is_short_lived)


def _requests(
    resource: str, wants: Sequence[_Want]
) -> tuple[dict[str, int], list[tuple[_Want, str]]]:
    """Return the devices by name of the request, and the containers that use each request.

    A container that runs until the end has a request of its own. Init containers use those of later
    ones, and share one for the rest.
    """
    lasting = [(want.request_name(resource), want) for want in wants if not want.is_short_lived]
    counts = {name: want.amount for name, want in lasting}
    uses = [(want, name) for name, want in lasting]
    largest: tuple[int, str] = (0, "")
    for want in wants:
        if want.is_short_lived:
            missing = want.amount
            for name, later in lasting:
                if missing > 0 and later.index >= want.index:
                    uses.append((want, name))
                    missing -= counts[name]
            if missing > 0:
                uses.append((want, ""))
                if missing > largest[0]:
                    largest = missing, want.request_name(resource)
    if largest[0]:
        counts[largest[1]] = largest[0]
    return counts, [(want, name or largest[1]) for want, name in uses]


def _device_request(name: str, device_class: str, count: int) -> Object:
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    return {"name": name, "exactly": exactly}
