"""Which DeviceClass backs an extended resource.

After extendedresourcecache in k8s.io/dynamic-resource-allocation/deviceclass. Each class
backs the implicit resource with its name, and the one that it names, if any. Of several classes
that name the same resource the newest is used, so that a resource can move from one class to
another; of equally old ones the first by name.
"""

import collections
from collections.abc import Iterator

from harness import concurrency
from harness.model.objects import Object

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Prefix of the extended resource that every class backs; the name of the class follows."""


class DeviceClassResolver:
    """Finds the classes of extended resources; an event handler of the informer of classes."""

    def __init__(self) -> None:
        self._guard = concurrency.lock("device-class-resolver")
        self._classes: dict[str, dict[str, Object]] = collections.defaultdict(dict)
        """Keyed by extended resource, then by the name of the class."""

    def device_class(self, resource: str) -> Object | None:
        """Return the class that backs the extended resource; None: there is none."""
        with self._guard:
            by_name = dict(self._classes.get(resource) or {})
        in_order = [by_name[name] for name in sorted(by_name)]
        return max(in_order, key=_created, default=None)

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Add a class."""
        del initial
        with self._guard:
            self._add(obj)

    def on_update(self, old: Object, new: Object) -> None:
        """Replace a class, which may back another resource now."""
        with self._guard:
            self._remove(old)
            self._add(new)

    def on_delete(self, last: Object) -> None:
        """Remove a class."""
        with self._guard:
            self._remove(last)

    def _add(self, obj: Object) -> None:
        for resource in _resources(obj):
            self._classes[resource][obj["metadata"]["name"]] = obj

    def _remove(self, obj: Object) -> None:
        for resource in _resources(obj):
            self._classes[resource].pop(obj["metadata"]["name"], None)
            if not self._classes[resource]:
                del self._classes[resource]


def _resources(obj: Object) -> Iterator[str]:
    yield IMPLICIT_PREFIX + obj["metadata"]["name"]
    if explicit := obj["spec"].get("extendedResourceName"):
        yield explicit


def _created(obj: Object) -> str:
    return str(obj["metadata"].get("creationTimestamp") or "")
