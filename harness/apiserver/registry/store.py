"""The store: the API's semantics without HTTP, threads, time or I/O.

Every method is one atomic step; its caller decides when it runs. The store takes ownership of the
documents that it is given and returns `Stored` (bytes), never shared mutable state. One integer
resourceVersion counts the commits of all resources. Listeners are called after each commit; the
caller decides when watchers see it and when the writer gets its response.

After k8s.io/apiserver/pkg/registry/generic/registry/store.go.
"""

import random
import uuid
from collections.abc import Callable, Iterable

from harness.apiserver.admission import admission_plugins
from harness.apiserver.errors import status_errors
from harness.apiserver.fidelity import disruption_budgets
from harness.apiserver.managedfields import field_managers, server_side_apply
from harness.apiserver.registry import (
    conversion,
    object_deletion,
    object_validation,
    pod_binding,
    preconditions,
    resource_strategies,
    store_reader,
)
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import object_names, resources
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
        self._stream = stream
        self._track_managers = track_managers
        super().__init__(
            object_tables.Objects(watch_history=watch_history, past=past, listeners=listeners)
        )
        self._plugins = admission_plugins.Plugins(self._objects)
        self._deleter = object_deletion.Deleter(
            self._objects, now=now, empties_namespaces=empties_namespaces
        )
        if past is None:
            for name in _INITIAL_NAMESPACES:
                self.create(resources.NAMESPACES, "", {"metadata": {"name": name}})
        self._first_version = past.version if past else self.resource_version

    # -------------------------------------------------------------- writing

    def create(
        self,
        resource: resources.ResourceType,
        namespace: str,
        document: Document,
        *,
        manager: str = "",
        dry_run: bool = False,
    ) -> stored_objects.Stored:
        """Create an object and return it."""
        now = self._now()
        strategy = resource_strategies.of(resource)
        preconditions.require_new(resource, namespace, document)
        strategy.default(resource, document, now=self._now)
        if self._track_managers:
            writer = field_managers.FieldWriter(
                resource=resource, manager=manager, now=now, reset_fields=strategy.reset_fields("")
            )
            _set_managed_fields(document, field_managers.of_created(document, writer))
        return self._add(resource, namespace, document, now=now, dry_run=dry_run)

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
        preconditions.require_uid(resource, old, meta)
        preconditions.require_version(resource, old, meta, subresource=subresource)
        live = conversion.outward(resource, old).document()
        self._manage(resource, live, document, manager=manager, subresource=subresource)
        return self._replace(
            resource, old, live, document, subresource=subresource, dry_run=dry_run
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
        outward = conversion.outward(resource, old)
        live = outward.document()
        document = change(outward.document())
        preconditions.require_patchable(resource, old, document)
        self._manage(resource, live, document, manager=manager, subresource=subresource)
        return self._replace(
            resource, old, live, document, subresource=subresource, dry_run=dry_run
        )

    def apply(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        configuration: server_side_apply.Configuration,
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> tuple[stored_objects.Stored, bool]:
        """Apply a configuration (server-side apply).

        Returns (the object, whether it was created).
        """
        strategy = resource_strategies.of(resource)
        writer = field_managers.FieldWriter(
            resource=resource,
            manager=configuration.manager,
            subresource=subresource,
            operation="Apply",
            now=self._now(),
            reset_fields=strategy.reset_fields(subresource),
        )
        old = self._objects.find(resource, namespace, name)
        if old is None:
            if subresource:
                raise status_errors.not_found(resource, name)
            document = server_side_apply.apply_to_nothing(configuration, writer, name)
            preconditions.require_new(resource, namespace, document)
            strategy.default(resource, document, now=self._now)
            new = self._add(resource, namespace, document, now=writer.now, dry_run=dry_run)
            return new, True
        live = conversion.outward(resource, old).document()
        document = server_side_apply.apply(configuration, live, writer)
        preconditions.require_patchable(resource, old, document)
        strategy.default(resource, document, now=self._now)
        new = self._replace(resource, old, live, document, subresource=subresource, dry_run=dry_run)
        return new, False

    def bind(self, namespace: str, name: str, binding: Document, *, dry_run: bool = False) -> None:
        """Bind a pod to a node; raises StatusError 409 if it cannot be bound."""
        node = pod_binding.target(binding)
        old = self._find(resources.PODS, namespace, name)
        preconditions.require(resources.PODS, old, binding.get("metadata") or {})
        pod = pod_binding.bind(old.document(), node, binding, now=self._now())
        if not dry_run:
            self._objects.put(resources.PODS, old, pod)

    def evict(self, namespace: str, name: str, options: object_deletion.DeleteOptions) -> None:
        """Set the condition `DisruptionTarget` of a pod and delete it.

        Raises StatusError 429 if its disruption budget does not allow it.
        """
        old = self._find(resources.PODS, namespace, name)
        stored_budgets = self.select(
            watch_cache.Selection(resource=disruption_budgets.BUDGETS, namespace=namespace)
        )
        budgets = [stored.document() for stored in stored_budgets]
        if budget := disruption_budgets.of(old.document(), budgets):
            disruption_budgets.spend(budget, name, now=self._now())
            self.update(
                disruption_budgets.BUDGETS,
                namespace,
                budget["metadata"]["name"],
                budget,
                subresource="status",
                manager="kube-apiserver",
                dry_run=options.dry_run,
            )
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

    # -------------------------------------------------------------- commits

    def _manage(
        self,
        resource: resources.ResourceType,
        live: Document,
        document: Document,
        *,
        manager: str,
        subresource: str,
    ) -> None:
        """Set default values and metadata.managedFields, in place."""
        strategy = resource_strategies.of(resource)
        strategy.default(resource, document, now=self._now)
        if not self._track_managers:
            _set_managed_fields(document, live["metadata"].get("managedFields"))
            return
        writer = field_managers.FieldWriter(
            resource=resource,
            manager=manager,
            subresource=subresource,
            now=self._now(),
            reset_fields=strategy.reset_fields(subresource),
        )
        _set_managed_fields(document, field_managers.after_update(live, document, writer))

    def _add(
        self,
        served: resources.ResourceType,
        namespace: str,
        document: Document,
        *,
        now: str,
        dry_run: bool,
    ) -> stored_objects.Stored:
        """Convert, name, prepare, admit, validate and commit a new object with its defaults."""
        strategy = resource_strategies.of(served)
        resource = strategy.resource
        document = conversion.inward(served, document, now=self._now)
        has_version = preconditions.names_version(document["metadata"])
        self._name(resource, namespace, document["metadata"])
        strategy.prepare_for_create(document, now=now)
        self._plugins.admit(resource, document, None)
        object_validation.check_create(
            strategy,
            document,
            served=served,
            namespace_labels=lambda: self._plugins.namespace_labels(namespace),
        )
        if has_version and not dry_run:  # a check of the storage, which a dry run does not reach
            raise status_errors.version_at_creation()
        new = self._commit_new(resource, namespace, document, now=now, dry_run=dry_run)
        return conversion.outward(served, new)

    def _name(self, resource: resources.ResourceType, namespace: str, meta: Document) -> None:
        """Generate the name from `generateName` if it has none, in place.

        Raises StatusError 404 if the namespace does not exist, 403 if it is terminating.
        """
        object_names.complete(
            meta, self._stream, is_taken=lambda name: self.has(resource, namespace, name)
        )
        self._plugins.require_namespace(resource, namespace, meta.get("name", ""))

    def _commit_new(
        self,
        resource: resources.ResourceType,
        namespace: str,
        document: Document,
        *,
        now: str,
        dry_run: bool,
    ) -> stored_objects.Stored:
        """Set uid and creation time, and store the object; raises StatusError 409 if it exists."""
        meta = document["metadata"]
        taken = self._objects.find(resource, namespace, meta["name"])
        if taken is not None:
            raise status_errors.already_exists(resource, meta["name"], deleting=taken.deleting)
        meta["uid"] = str(uuid.UUID(int=self._stream.getrandbits(128), version=4))
        meta["creationTimestamp"] = now
        if dry_run:
            return stored_objects.unstored(document)
        return self._objects.put(resource, None, document)

    def _replace(
        self,
        served: resources.ResourceType,
        old: stored_objects.Stored,
        live: Document,
        document: Document,
        *,
        subresource: str,
        dry_run: bool,
    ) -> stored_objects.Stored:
        strategy = resource_strategies.of(served)
        resource = strategy.resource
        before = live if resource is served else old.document()
        document = conversion.inward(served, document, now=self._now)
        strategy.prepare_for_update(document, before, subresource=subresource)
        self._plugins.admit(resource, document, before)
        object_validation.check_update(
            strategy,
            document,
            before,
            subresource=subresource,
            namespace_labels=lambda: self._plugins.namespace_labels(old.namespace),
        )
        document["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
        if document == before or field_managers.same_but_for_times(document, before):
            return conversion.outward(served, old)  # no change: no commit, no event
        return conversion.outward(served, self._put(resource, old, document, dry_run=dry_run))

    def _put(
        self,
        resource: resources.ResourceType,
        old: stored_objects.Stored,
        document: Document,
        *,
        dry_run: bool,
    ) -> stored_objects.Stored:
        if dry_run:
            return stored_objects.store(document, old.resource_version)
        if old.deleting and object_deletion.is_done(resource, document):
            self._objects.remove(resource, old)
            return stored_objects.store(document, old.resource_version)
        return self._objects.put(resource, old, document)


def _set_managed_fields(document: Document, entries: list[Document] | None) -> None:
    generic.set_or_drop(document["metadata"], "managedFields", entries)
