"""The device requests for a pod's extended resources, and which container uses which of them.

After createRequestsAndMappings in extendeddynamicresources.go. Each container that runs until the
end, a sidecar included, has a request of its own. An init container ends before the containers
begin, so it uses the devices of those after it; only what these do not suffice for is requested
once more, and this once for all init containers, since they run one after the other.
"""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping

from harness.model.objects import Object
from harness.subject.extended_resources import resource_amounts


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
        """Return the entry that lets it use the devices of a request."""
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
        """Let an init container use the devices of later ones; return how many are missing."""
        for name, index in self._lasting.items():
            if amount > 0 and index >= container.index:
                self._uses.append((container, name))
                amount -= self.counts[name]
        if amount > 0:
            self._uses.append((container, ""))
        return amount


def of_pod(
    pod: Object, classes: Mapping[str, str], resources: Collection[str]
) -> tuple[list[Object], list[Object]]:
    """Return the device requests by name, and the `requestMappings` of the pod's status.

    `classes` maps each of the resources to the name of its DeviceClass.
    """
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
        if (amount := resource_amounts.of_container(container.spec).get(resource))
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
        is_short_lived = index < len(init) and not resource_amounts.is_sidecar(container)
        yield _Container(index, container, is_short_lived)


def _device_request(name: str, device_class: str, count: int) -> Object:
    exactly = {"deviceClassName": device_class, "allocationMode": "ExactCount", "count": count}
    return {"name": name, "exactly": exactly}
