"""Which DeviceClass backs an extended resource.

After extendedresourcecache in k8s.io/dynamic-resource-allocation/deviceclass. Each class
backs the implicit resource with its name, and the one that it names, if any. Of several classes
that name the same resource the newest is used, so that a resource can move from one class to
another; of equally old ones the first by name.
"""

import collections
import dataclasses
from collections.abc import Callable, Iterator, Mapping

from harness import concurrency
from harness.model.objects import Object
from harness.subject.extended_resources import extended_claims, extended_requests
from harness.subject.objects import change_handlers

INSUFFICIENT = "Insufficient"
"""First word of the reason for which a node is ruled out, before the resource; upstream's word."""


class DeviceClassResolver(change_handlers.Changes):
    """Finds the classes of extended resources; an event handler of the informer of classes."""

    def __init__(self) -> None:
        super().__init__(self._replace)
        self._guard = concurrency.lock("device-class-resolver")
        self._classes: dict[str, dict[str, Object]] = collections.defaultdict(dict)
        """Keyed by extended resource, then by the name of the class."""

    def device_class(self, resource: str) -> Object | None:
        """Return the class that backs the extended resource; None: there is none."""
        with self._guard:
            by_name = dict(self._classes.get(resource) or {})
        in_order = [by_name[name] for name in sorted(by_name)]
        return max(
            in_order, key=lambda it: it["metadata"].get("creationTimestamp") or "", default=None
        )

    def _replace(self, old: Object | None, new: Object | None) -> None:
        with self._guard:
            for resource, name in _backed(old):
                self._classes[resource].pop(name, None)
                if not self._classes[resource]:
                    del self._classes[resource]
            for resource, name in _backed(new):
                self._classes[resource][name] = new or {}


def _backed(device_class: Object | None) -> Iterator[tuple[str, str]]:
    """Yield (extended resource, name of the class) for each resource that a class backs."""
    if device_class is not None:
        name = device_class["metadata"]["name"]
        yield extended_requests.IMPLICIT_PREFIX + name, name
        if explicit := device_class["spec"].get("extendedResourceName"):
            yield explicit, name


@dataclasses.dataclass(frozen=True, slots=True)
class Demand:
    """The extended resources of one pod; empty for most pods."""

    amounts: Mapping[str, int] = dataclasses.field(default_factory=dict)
    """Amounts by resource, without zeros."""
    classes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """Name of the DeviceClass by resource, of those that a class backs."""

    @property
    def refusal(self) -> str | None:
        """Why no node has what the pod asks for, in upstream's words: no class backs it."""
        missing = min(self.amounts.keys() - self.classes.keys(), default=None)
        return f"{INSUFFICIENT} {missing}" if missing else None


class ExtendedResources:
    """Classes, claims and pods, as far as they concern extended resources."""

    def __init__(self, on_freed: Callable[[], None] = lambda: None) -> None:
        """`on_freed()` is called when pods that wait for an extended resource may go on."""
        self.resolver = DeviceClassResolver()
        self.claims = extended_claims.ExtendedClaimIndex(on_freed)

    def demand(self, pod: Object) -> Demand:
        """Return what the pod asks for, with the classes as they are now."""
        amounts = extended_requests.of_pod(pod)
        found = {name: self.resolver.device_class(name) for name in amounts}
        classes = {
            name: str(item["metadata"]["name"]) for name, item in found.items() if item is not None
        }
        return Demand(amounts, classes)

    def claim_for(self, pod: Object, demand: Demand) -> Object | None:
        """Return the claim that an earlier attempt left, or a new one; None: no class backs it."""
        if not demand.classes:
            return None
        return self.claims.of_pod(pod) or extended_claims.in_memory(pod)
