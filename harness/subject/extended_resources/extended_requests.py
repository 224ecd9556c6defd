"""The extended resources that pods ask for, and the device requests that are made of them.

After extendeddynamicresources.go. Each container has requests of its own; init containers use what
later containers have.
"""

import collections
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping

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
class _Container:
    """A container and its index among init containers and containers."""

    index: int
    spec: Object
    is_short_lived: bool

    def request_name(self, resource: str) -> str:
        """Return the name of its request: with its index, and that of the resource in it."""
        names = sorted(self.spec["resources"]["requests"])
        return f"container-{self.index}-request-{names.index(resource)}"

    def mapping(self, resource: str, request: str) -> Object:
        return {
            "containerName": self.spec["name"],
            "resourceName": resource,
            "requestName": request,
        }


@dataclasses.dataclass(slots=True)
class _Requests:
    """The requests for one resource, and the containers that use them."""

    resource: str
    counts: dict[str, int] = dataclasses.field(default_factory=dict)
    """Devices by name of the request."""
    _lasting: dict[str, int] = dataclasses.field(default_factory=dict)
    """Index of the container by name of the request, of those that run until the end."""
    _uses: list[tuple[_Container, str]] = dataclasses.field(default_factory=list)
    """A container, and the name of a request; empty: the request that init containers share."""
    _shared: str = ""

    def add_lasting(self, container: _Container, amount: int) -> None:
        """Give a container that runs until the end a request of its own."""
        name = container.request_name(self.resource)
        self.counts[name], self._lasting[name] = amount, container.index
        self._uses.append((container, name))

    def add_short_lived(self, wants: Iterable[tuple[_Container, int]]) -> None:
        """Let init containers use what later ones have, and share one request for the rest."""
        missing = [(self._reuse(container, amount), container) for container, amount in wants]
        count, largest = max(missing, key=lambda item: item[0], default=(0, None))
        if largest is not None and count > 0:
            self._shared = largest.request_name(self.resource)
            self.counts[self._shared] = count

    def mappings(self) -> Iterator[Object]:
        """Yield the entries that let containers use the devices of requests."""
        for container, request in self._uses:
            yield container.mapping(self.resource, request or self._shared)

    def _reuse(self, container: _Container, amount: int) -> int:
        for name, index in self._lasting.items():
            if amount > 0 and index >= container.index:
                self._uses.append((container, name))
                amount -= self.counts[name]
        if amount > 0:
            self._uses.append((container, ""))
        return amount


def for_pod(
    pod: Object, classes: Mapping[str, str], resources: Collection[str]
) -> tuple[list[Object], list[Object]]:
    """Return the device requests by name, and the `requestMappings` of the pod's status."""
    containers = list(_containers(pod))
    requests: list[Object] = []
    mappings: list[Object] = []
    for resource in sorted(resources):
        made = _requests(resource, containers)
        requests += [
            _device_request(name, classes[resource], count) for name, count in made.counts.items()
        ]
        mappings += made.mappings()
    return sorted(requests, key=lambda request: str(request["name"])), mappings


def _requests(resource: str, containers: Iterable[_Container]) -> _Requests:
    wants = [
        (container, amount)
        for container in containers
        if (amount := of_container(container.spec).get(resource))
    ]
    made = _Requests(resource)
    for container, amount in wants:
        if not container.is_short_lived:
            made.add_lasting(container, amount)
    made.add_short_lived((item, amount) for item, amount in wants if item.is_short_lived)
    return made


def _containers(pod: Object) -> Iterator[_Container]:
    init = pod["spec"].get("initContainers") or []
    for index, container in enumerate([*init, *pod["spec"]["containers"]]):
        is_short_lived = index < len(init) and not is_sidecar(container)
        yield _Container(index, container, is_short_lived)


def _device_request(name: str, device_class: str, count: int) -> Object:
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    return {"name": name, "exactly": exactly}
