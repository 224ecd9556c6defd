"""Publishes the devices of a driver on a node as ResourceSlices, and keeps them as they should be.

As upstream's helper for drivers: the slices belong to the Node, a pool of one slice is changed in
place, and one of several gets a new generation. Slices that others change or delete are written
again.
"""

import sys
from collections.abc import Callable, Sequence

from harness import concurrency, errors
from harness.client import apis, backoffs, informers
from harness.cluster import slices
from harness.model.objects import Object

_FIRST_S, _MAX_S = 0.1, 5.0
"""Wait before another try after a failure."""


class SlicePublisher(concurrency.WorkerThread, informers.StateHandler):
    """Publishes one pool, named after the node; an event handler of an informer of slices."""

    def __init__(self, api: apis.Api, *, driver: str, node: str, devices: Sequence[Object]) -> None:
        super().__init__(f"slices-of-{node}")
        self._api, self.driver, self.node = api, driver, node
        self._parts = slices.parts(devices)
        self._published: dict[str, Object] = {}
        """Name -> `spec` of the slices, as the API server has stored them."""
        self._is_due = True
        self._due_s: float | None = None
        """When the next try is due; None: at once."""
        self._backoff = backoffs.Backoff(first_s=_FIRST_S, max_s=_MAX_S)
        self._done = concurrency.Event(f"slices-of-{node}.published")

    def wait_published(self, *, timeout_s: float) -> bool:
        """Wait until all slices are there; return False if they are not after the timeout."""
        return self._done.wait(timeout_s)

    def on_state(self, obj: Object) -> None:
        name = obj["metadata"]["name"]
        if self._is_own(obj) and self._published.get(name) != obj["spec"]:
            self._look_again()

    def on_delete(self, last: Object) -> None:
        if last["metadata"]["name"] in self._published:
            self._look_again()

    def remove(self) -> None:
        """Delete the slices, after `stop`. Raises HarnessError if one stays."""
        for name in [*self._published]:
            with apis.if_there():
                self._api.delete(apis.SLICES, name)

    def _is_own(self, obj: Object) -> bool:
        spec = obj["spec"]
        return bool(spec["driver"] == self.driver and spec.get("nodeName") == self.node)

    def _look_again(self) -> None:
        with self._changed:
            self._is_due = True
            self._changed.notify_all()

    def _take(self) -> Callable[[], None] | None:
        if not self._is_due or (self._left_s() or 0) > 0:
            return None
        self._is_due, self._due_s = False, None
        return self._try

    def _left_s(self) -> float | None:
        if self._due_s is None:
            return None
        return max(0.0, self._due_s - concurrency.monotonic_s())

    def _try(self) -> None:
        try:
            self._publish()
        except errors.HarnessError as error:
            sys.stderr.write(f"flake-hunt driver: cannot publish slices: {error}\n")
            with self._changed:
                self._is_due = True
                self._due_s = concurrency.monotonic_s() + self._backoff.next_s()
        else:
            self._backoff.reset()
            self._done.set()

    def _publish(self) -> None:
        listed = self._api.list(apis.SLICES).items
        found = {item["metadata"]["name"]: item for item in listed if self._is_own(item)}
        generation = max((item["spec"]["pool"]["generation"] for item in found.values()), default=0)
        node = self._api.get(apis.NODES, self.node)
        if self._is_published(found, self._slices(node, generation)):
            return
        if len(self._parts) > 1 or len(found) > 1 or not generation:
            generation += 1
        wanted = self._slices(node, generation)
        self._published = {name: self._put(item, found.get(name)) for name, item in wanted.items()}
        for name in found.keys() - wanted.keys():
            with apis.if_there():
                self._api.delete(apis.SLICES, name)

    def _is_published(self, found: dict[str, Object], wanted: dict[str, Object]) -> bool:
        specs = {name: item["spec"] for name, item in found.items()}
        expected = {name: item["spec"] for name, item in wanted.items()}
        if not self._published and specs.keys() == expected.keys() and _covers(specs, expected):
            self._published = specs  # by an earlier process
        return bool(specs) and specs == self._published

    def _put(self, wanted: Object, old: Object | None) -> Object:
        if old is None:
            stored = self._api.create(apis.SLICES, wanted)
        else:
            version = old["metadata"]["resourceVersion"]
            metadata = {**wanted["metadata"], "resourceVersion": version}
            stored = self._api.update(apis.SLICES, {**wanted, "metadata": metadata})
        spec: Object = stored["spec"]
        return spec

    def _slices(self, node: Object, generation: int) -> dict[str, Object]:
        """Return the slices that should be there, by name."""
        owner = {
            "apiVersion": "v1",
            "kind": "Node",
            "name": self.node,
            "uid": node["metadata"]["uid"],
            "controller": True,
        }
        made = {}
        for index, part in enumerate(self._parts):
            name = f"{index}-{self.node}-{self.driver}"
            metadata = {"name": name, "ownerReferences": [owner]}
            spec = {"driver": self.driver, "nodeName": self.node, "devices": part}
            made[name] = slices.document(
                metadata, spec, self.node, generation=generation, count=len(self._parts)
            )
        return made


def _covers(found: object, wanted: object) -> bool:
    """Return whether all that is wanted is there; the API server may have added defaults."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(name in found and _covers(found[name], wanted[name]) for name in wanted)
    if isinstance(wanted, list) and isinstance(found, list):
        return len(found) == len(wanted) and all(map(_covers, found, wanted))
    return found == wanted
