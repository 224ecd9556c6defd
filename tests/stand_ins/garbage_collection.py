"""The garbage collector of the stand-in for kube-controller-manager: claims and ResourceSlices."""

import contextlib
import queue
import threading
from collections.abc import Iterator
from typing import Any, NamedTuple

from harness.client import apis, informers, transports

RETRY_S = 0.5
OWNERS = {resource.kind: resource for resource in (apis.PODS, apis.NODES, apis.CLAIMS)}
Object = dict[str, Any]


class Dependent(NamedTuple):
    resource: apis.Resource
    namespace: str | None
    name: str
    uid: str


class Collector:
    """Deletes what is left by owners that are gone."""

    def __init__(self, api: apis.Api) -> None:
        self._api, self._stopped = api, threading.Event()
        self._due: queue.SimpleQueue[Dependent | None] = queue.SimpleQueue()
        self._owners: dict[Dependent, list[Object]] = {}
        self._informers = [
            informers.Informer(
                api, resource, name=resource.plural, handlers=[Handler(self, resource)]
            )
            for resource in (apis.CLAIMS, apis.SLICES, apis.PODS, apis.NODES, apis.CLAIM_TEMPLATES)
        ]

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run)
        for informer in self._informers:
            informer.start()
        thread.start()
        yield
        self._stopped.set()
        self._due.put(None)
        for informer in self._informers:
            informer.stop()
        thread.join()

    def _run(self) -> None:
        while (dependent := self._due.get()) is not None and not self._stopped.is_set():
            try:
                if not any(self._exists(item, dependent) for item in self._owners[dependent]):
                    self._delete(dependent)
            except KeyError:  # it is gone
                continue
            except (apis.ApiError, transports.TransportError):
                self._due.put(dependent)
                self._stopped.wait(RETRY_S)

    def _delete(self, item: Dependent) -> None:
        with apis.if_there():
            self._api.delete(item.resource, item.name, namespace=item.namespace, uid=item.uid)

    def _exists(self, reference: Object, dependent: Dependent) -> bool:
        resource = OWNERS[reference["kind"]]
        namespace = dependent.namespace if resource.namespaced else None
        try:
            found = self._api.get(resource, reference["name"], namespace=namespace)
        except apis.ApiError as error:
            if error.is_not_found:
                return False
            raise
        return bool(found["metadata"]["uid"] == reference["uid"])

    def note(self, resource: apis.Resource, obj: Object) -> None:
        """Look for the owners of an object that is seen for the first time."""
        dependent = dependent_of(resource, obj)
        if (references := obj["metadata"].get("ownerReferences")) and dependent not in self._owners:
            self._owners[dependent] = references
            self._due.put(dependent)

    def forget(self, resource: apis.Resource, last: Object) -> None:
        self._owners.pop(dependent_of(resource, last), None)
        uid = last["metadata"]["uid"]
        for dependent, references in list(self._owners.items()):
            if any(item["uid"] == uid for item in references):
                self._due.put(dependent)


class Handler(informers.StateHandler):
    def __init__(self, collector: Collector, resource: apis.Resource) -> None:
        self._collector, self._resource = collector, resource

    def on_state(self, obj: Object) -> None:
        self._collector.note(self._resource, obj)

    def on_delete(self, last: Object) -> None:
        self._collector.forget(self._resource, last)


def dependent_of(resource: apis.Resource, obj: Object) -> Dependent:
    meta = obj["metadata"]
    return Dependent(resource, meta.get("namespace"), meta["name"], meta["uid"])
