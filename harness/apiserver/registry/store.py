"""The store: the API's semantics without HTTP, threads, time or I/O.

Every method is one atomic step; its caller decides when it runs. The store takes ownership of the
documents that it is given and returns `Stored` (bytes), never shared mutable state. One integer
resourceVersion counts the commits of all resources. Listeners are called after each commit; the
caller decides when watchers see it and when the writer gets its response.

After k8s.io/apiserver/pkg/registry/generic/registry/store.go.
"""

import random
from collections.abc import Callable, Iterable
from typing import Literal

from harness.apiserver import admission
from harness.apiserver.errors import status_errors
from harness.apiserver.managedfields import field_managers, server_side_apply
from harness.apiserver.registry import (
    commit_pipeline,
    conversion,
    object_deletion,
    preconditions,
    resource_strategies,
    store_reader,
)
from harness.apiserver.registry.strategies import generic, pods
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import object_tables, stored_objects, watch_cache

Listener = object_tables.Listener
WATCH_HISTORY_DEFAULT = 100_000
"""Number of commits of each resource that watches can resume from."""
_INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class Store(store_reader.StoreReader):
    """All objects of one API server."""

    def __init__(
        self,
        *,
        now: Callable[[], str],
        stream: random.Random,
        watch_history: int = WATCH_HISTORY_DEFAULT,
        past: watch_cache.Past | None = None,
        listeners: Iterable[Listener] = (),
        track_managers: bool = True,
        empties_namespaces: bool = True,
    ) -> None:
        """Restore a store from its past, or create one with the initial namespaces.

        The listeners see the commits of the initial namespaces. Without `track_managers` only
        server-side apply maintains metadata.managedFields, which saves time. Without
        `empties_namespaces` a namespace that is deleted waits for a namespace controller.
        """
        self._now = now
        self._track_managers = track_managers
        super().__init__(
            object_tables.Objects(watch_history=watch_history, past=past, listeners=listeners)
        )
        self._plugins = admission.Plugins(self._objects)
        self._commits = commit_pipeline.CommitPipeline(
            self._objects, self._plugins, now=now, stream=stream
        )
        self._deleter = object_deletion.Deleter(
            self._objects, now=now, empties_namespaces=empties_namespaces
        )
        if past is None:
            for name in _INITIAL_NAMESPACES:
                self.create(resources.NAMESPACES, "", {"metadata": {"name": name}})
        self._first_version = past.version if past else self.resource_version

    def create(
        self,
        resource: resources.ResourceType,
        namespace: str,
        document: Document,
        *,
        manager: str = "",
        dry_run: bool = False,
    ) -> stored_objects.Stored:
        now = self._now()
        strategy = resource_strategies.of(resource)
        preconditions.require_new(resource, namespace, document)
        strategy.default(resource, document, now=self._now)
        if self._track_managers:
            writer = self._writer(resource, manager)
            _set_managed_fields(document, field_managers.of_created(document, writer))
        return self._commits.create(resource, namespace, document, now=now, dry_run=dry_run)

    def update(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        document: Document,
        *,
        subresource: str = "",
        manager: str = "",
        dry_run: bool = False,
    ) -> stored_objects.Stored:
        """Replace an object, or the part of it that the subresource writes.

        Raises StatusError 409 if the document is not based on the current version.
        """
        old = self._find(resources.table_of(resource), namespace, name)
        meta = preconditions.require_same(resource, old, document)
        preconditions.require_version(resource, old, meta, subresource=subresource)
        return self._replace(
            resource, old, document, subresource=subresource, manager=manager, dry_run=dry_run
        )

    def patch(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        change: Callable[[Document], Document],
        *,
        subresource: str = "",
        manager: str = "",
        dry_run: bool = False,
    ) -> stored_objects.Stored:
        """Change the current version of an object.

        A patch without a resourceVersion cannot conflict.
        """
        old = self._find(resources.table_of(resource), namespace, name)
        document = change(conversion.outward(resource, old).document())
        preconditions.require_patchable(resource, old, document)
        return self._replace(
            resource, old, document, subresource=subresource, manager=manager, dry_run=dry_run
        )

    def apply(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        configuration: Document,
        *,
        manager: str,
        force: bool = False,
        subresource: str = "",
        dry_run: bool = False,
    ) -> tuple[stored_objects.Stored, bool]:
        """Apply a configuration (server-side apply).

        `force`: take ownership of conflicting fields instead of failing with 409. Returns (the
        object, whether it was created).
        """
        strategy = resource_strategies.of(resource)
        writer = self._writer(resource, manager, subresource, operation="Apply")
        old = self._objects.find(resource, namespace, name)
        if old is None:
            if subresource:
                raise status_errors.not_found(resource, name)
            document = server_side_apply.apply_to_nothing(configuration, writer, name)
            preconditions.require_new(resource, namespace, document)
            strategy.default(resource, document, now=self._now)
            new = self._commits.create(
                resource, namespace, document, now=writer.now, dry_run=dry_run
            )
            return new, True
        live = conversion.outward(resource, old).document()
        document = server_side_apply.apply(configuration, live, writer, force=force)
        preconditions.require_patchable(resource, old, document)
        strategy.default(resource, document, now=self._now)
        new = self._commits.replace(
            resource, old, live, document, subresource=subresource, dry_run=dry_run
        )
        return new, False

    def bind(self, namespace: str, name: str, binding: Document, *, dry_run: bool = False) -> None:
        """Bind a pod to a node; raises StatusError 409 if it cannot be bound."""
        node = pods.target(binding)
        old = self._find(resources.PODS, namespace, name)
        preconditions.require_current(resources.PODS, old, binding.get("metadata") or {})
        pod = pods.bind(old.document(), node, binding, now=self._now())
        if not dry_run:
            self._objects.put(resources.PODS, old, pod)

    def evict(self, namespace: str, name: str, options: object_deletion.DeleteOptions) -> None:
        """Set the condition `DisruptionTarget` of a pod and delete it, whatever its budget."""
        old = self._find(resources.PODS, namespace, name)
        self._deleter.evict(old, options)

    def delete(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        options: object_deletion.DeleteOptions = object_deletion.AS_USUAL,
    ) -> tuple[stored_objects.Stored, bool]:
        """Start or finish the deletion of an object.

        Returns (its last state, whether it is gone).
        """
        old = self._find(resources.table_of(resource), namespace, name)
        self._plugins.require_mortal(resource, name)
        last, gone = self._deleter.delete(resources.table_of(resource), old, options)
        return conversion.outward(resource, last), gone

    def age_garbage(self) -> bool:
        """Make the present garbage due for collection; return False if there is none."""
        return self._deleter.age()

    def collect_garbage_step(self) -> bool:
        """Process one object that is due; return False if there was nothing to do."""
        return self._deleter.collect_step()

    def collect_garbage(self) -> None:
        """Process all garbage, including what this makes garbage."""
        while self.age_garbage():
            while self.collect_garbage_step():
                pass

    def _replace(
        self,
        resource: resources.ResourceType,
        old: stored_objects.Stored,
        document: Document,
        *,
        subresource: str,
        manager: str,
        dry_run: bool,
    ) -> stored_objects.Stored:
        """Set default values and metadata.managedFields, in place, and commit."""
        live = conversion.outward(resource, old).document()
        resource_strategies.of(resource).default(resource, document, now=self._now)
        entries = live["metadata"].get("managedFields")
        if self._track_managers:
            writer = self._writer(resource, manager, subresource)
            entries = field_managers.after_update(live, document, writer)
        _set_managed_fields(document, entries)
        return self._commits.replace(
            resource, old, live, document, subresource=subresource, dry_run=dry_run
        )

    def _writer(
        self,
        resource: resources.ResourceType,
        manager: str,
        subresource: str = "",
        *,
        operation: Literal["Apply", "Update"] = "Update",
    ) -> field_managers.FieldWriter:
        return field_managers.FieldWriter(
            resource=resource,
            manager=manager,
            subresource=subresource,
            operation=operation,
            now=self._now(),
            reset_fields=resource_strategies.of(resource).reset_fields(subresource),
        )


def _set_managed_fields(document: Document, entries: list[Document] | None) -> None:
    generic.set_or_drop(document["metadata"], "managedFields", entries)
