"""The objects of `pools.from` as a run creates them: renamed, multiplied, labelled.

Pure functions; `fake_world` creates the objects. Nodes get the names of the run's nodes, and what
names them follows: slices, devices, selectors, rules, and pools that have the name of their node.
On a cluster with other users, pools and classes have the run's id in their names, and the classes
select the run's devices only.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from harness.cluster.fake_nodes import fake_objects
from harness.model import naming
from harness.model.objects import Object
from harness.scenario import imported_pools, pool_specs

_NAME_MAX = 253
_PREFIX_MAX = 200
_OS_LABEL = "kubernetes.io/os"
PoolKey = tuple[str, str]
"""Driver and name of a pool."""


class ImportedObjects:
    """The objects of files, as one run creates them."""

    def __init__(
        self, pools: pool_specs.PoolsSpec, objects: Iterable[Object], *, labels: dict[str, str]
    ) -> None:
        """`objects` may be iterated several times; `labels` are those of the run."""
        self._pools, self._objects, self._labels = pools, objects, labels
        nodes = itertools.takewhile(lambda item: item["kind"] == "Node", objects)
        self._nodes = list(nodes)
        self._index = {item["metadata"]["name"]: at for at, item in enumerate(self._nodes)}
        specs = (obj["spec"] for obj in self._of_kind("ResourceSlice"))
        self._of_nodes = frozenset(
            (spec["driver"], spec["pool"]["name"])
            for spec in specs
            if any(map(_names_nodes, (spec, *(spec.get("devices") or ()))))
        )
        """Pools that name nodes, and that every copy has."""
        self._numbers = itertools.count()

    def _of_kind(self, kind: str) -> Iterator[Object]:
        """Yield the objects of a kind; there may be many slices, which come last."""
        for item in self._objects:
            if item["kind"] == kind:
                yield item
            elif item["kind"] == "ResourceSlice":
                return

    # ------------------------------------------------------------------ without nodes

    def device_classes(self) -> Iterator[Object]:
        for obj in self._of_kind("DeviceClass"):
            spec = dict(obj.get("spec") or {})
            if owner := self._pools.owner:
                mine = {"cel": {"expression": fake_objects.owned_expression(owner)}}
                spec["selectors"] = [mine, *(spec.get("selectors") or [])]
            if resource := spec.get("extendedResourceName"):
                spec["extendedResourceName"] = self._pools.imported_resource(resource)
            yield self._made(obj, self._pools.imported_class(obj["metadata"]["name"]), spec)

    def templates(self) -> Iterator[Object]:
        for obj in self._of_kind("ResourceClaimTemplate"):
            spec = _replaced(obj.get("spec"), self._with_class)
            yield self._made(obj, obj["metadata"]["name"], spec)

    def _with_class(self, part: Object) -> Object:
        name = part.get("deviceClassName")
        if self._pools.imported is None or name not in self._pools.imported.classes:
            return part
        return {**part, "deviceClassName": self._pools.imported_class(name)}

    # ------------------------------------------------------------------------- nodes

    def node(self, index: int, name: str) -> Object | None:
        """Return what is known of the node of the run with this number; None: it is not of files.

        It has `labels`, with the new host name, and `amounts`, what can be allocated on it.
        """
        if index >= self._pools.imported_nodes:
            return None
        found = self._nodes[index % len(self._nodes)]
        labels = dict(found["metadata"].get("labels") or {})
        if self._pools.owner:
            labels.pop(_OS_LABEL, None)
        status = found.get("status") or {}
        labels[imported_pools.HOSTNAME] = name
        return {"labels": labels, "amounts": status.get("allocatable") or status.get("capacity")}

    def _node_name(self, name: str, copy: int) -> str:
        """Return the name that a node of the files has in the run; unknown ones stay."""
        index = self._index.get(name)
        if index is None:
            return name
        return naming.node(copy * len(self._nodes) + index, prefix=self._pools.node_prefix)

    # ------------------------------------------------------------------------- slices

    def slices(self) -> Iterator[Object]:
        for obj in self._of_kind("ResourceSlice"):
            key = obj["spec"]["driver"], obj["spec"]["pool"]["name"]
            for copy in range(self._pools.copies if key in self._of_nodes else 1):
                yield self._slice(obj, copy)

    def _slice(self, obj: Object, copy: int) -> Object:
        spec = {**obj["spec"], **self._place(obj["spec"], copy)}
        driver, pool = spec["driver"], spec["pool"]["name"]
        name = self._pool_name((driver, pool), copy)
        spec["pool"] = {**spec["pool"], "name": name}
        if "devices" in spec:
            spec["devices"] = [self._device(item, copy) for item in spec["devices"]]
        prefix = f"{spec.get('nodeName') or self._pools.node_prefix + name.replace('/', '-')}"
        return self._made(
            obj, f"{prefix[:_PREFIX_MAX]}-{driver}-{next(self._numbers)}"[-_NAME_MAX:], spec
        )

    def _pool_name(self, key: PoolKey, copy: int) -> str:
        pool = key[1]
        if pool in self._index and key in self._of_nodes:
            return self._node_name(pool, copy)
        of_copy = f"{pool}-{copy}" if copy else pool
        return f"{of_copy}-{self._pools.owner}" if self._pools.owner else of_copy

    def _device(self, device: Object, copy: int) -> Object:
        changed = {**device, **self._place(device, copy)}
        if self._pools.owner:
            own = {fake_objects.OWNER: {"string": self._pools.owner}}
            changed["attributes"] = {**(device.get("attributes") or {}), **own}
        return changed

    def _place(self, place: Object, copy: int) -> Object:
        changed: Object = {}
        if place.get("nodeName"):
            changed["nodeName"] = self._node_name(place["nodeName"], copy)
        if place.get("nodeSelector"):

            def renamed(part: Object) -> Object:
                if not imported_pools.is_of_names(part):
                    return part
                values = [self._node_name(name, copy) for name in part.get("values") or ()]
                return {**part, "values": values}

            changed["nodeSelector"] = _replaced(place["nodeSelector"], renamed)
        return changed

    # ------------------------------------------------------------------------- rules

    def rules(self) -> Iterator[Object]:
        """Yield the DeviceTaintRules; one that names a pool of nodes once for each copy."""
        for obj in self._of_kind("DeviceTaintRule"):
            spec = obj.get("spec") or {}
            selector = spec.get("deviceSelector") or {}
            for copy, pool in enumerate(self._selected_pools(selector)):
                name = f"{obj['metadata']['name']}-{copy}" if copy else obj["metadata"]["name"]
                named = {**selector, "pool": pool} if pool else selector
                yield self._made(obj, name, {**spec, "deviceSelector": named} if named else spec)

    def _selected_pools(self, selector: Mapping[str, Any]) -> list[str]:
        driver, pool = selector.get("driver"), selector.get("pool")
        if not pool:
            return [""]
        keys = [key for key in self._of_nodes if key[1] == pool and driver in (None, key[0])]
        if not keys:
            return [self._pool_name(("", pool), 0)]
        return [self._pool_name(keys[0], copy) for copy in range(self._pools.copies)]

    def _made(self, obj: Object, name: str, spec: Any) -> Object:
        meta = obj["metadata"]
        marks = {"annotations": meta["annotations"]} if meta.get("annotations") else {}
        labels = {**(meta.get("labels") or {}), **self._labels}
        return {
            "apiVersion": obj["apiVersion"],
            "kind": obj["kind"],
            "metadata": {"name": name, "labels": labels, **marks},
            **{key: value for key, value in obj.items() if key not in _OUTLINE},
            "spec": spec,
        }


_OUTLINE = ("apiVersion", "kind", "metadata", "spec")


def _replaced(value: Any, change: Callable[[Object], Object]) -> Any:
    """Return a document in which `change` has replaced objects, from the outside to the inside."""
    if isinstance(value, list):
        return [_replaced(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _replaced(item, change) for key, item in change(value).items()}


def _names_nodes(place: Object) -> bool:
    selector = place.get("nodeSelector")
    return bool(place.get("nodeName")) or any(imported_pools.names_in_selector(selector))
