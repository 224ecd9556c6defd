"""The store: the API's semantics without HTTP, threads, time or I/O.

Every method is one atomic step; its caller decides when it runs. The store takes ownership of the
documents that it is given and returns `Stored` (bytes), never shared mutable state. Objects are
converted to the version that is asked for. Listeners are called after each commit; the caller
decides when watchers see it and when the writer gets its response.

After k8s.io/apiserver/pkg/registry: generic/registry/store.go, rest/{create,update}.go.
"""

import random
import uuid
from collections.abc import Callable, Iterable
from typing import Literal, TypedDict, Unpack

from harness.apiserver import admission
from harness.apiserver.errors import status_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.managedfields import field_managers, server_side_apply
from harness.apiserver.registry import (
    conversion,
    object_deletion,
    preconditions,
    resource_strategies,
)
from harness.apiserver.registry.strategies import generic, pods
from harness.apiserver.scheme import resources
from harness.apiserver.storage import object_tables, stored_objects, watch_cache

WATCH_HISTORY_DEFAULT = 100_000
"""Number of commits of each resource that watches can resume from."""
_INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class Write(TypedDict, total=False):
    """The options of a write."""

    manager: str
    """The field manager, by default unknown."""
    subresource: str
    dry_run: bool
    """True if nothing is stored."""


class Store(object_deletion.DeletedObjects):
    """All objects of one API server."""

    def __init__(
        self,
        *,
        now: Callable[[], str],
        stream: random.Random,
        watch_history: int = WATCH_HISTORY_DEFAULT,
        past: watch_cache.Past | None = None,
        listeners: Iterable[object_tables.Listener] = (),
        track_managers: bool = True,
        empties_namespaces: bool = True,
    ) -> None:
        """Restore a store from its past, or create one with the initial namespaces.

        The listeners see the commits of the initial namespaces. Without `track_managers` only
        server-side apply maintains metadata.managedFields, which saves time. Without
        `empties_namespaces` a namespace that is deleted waits for a namespace controller.
        """
        super().__init__(
            now=now,
            empties_namespaces=empties_namespaces,
            watch_history=watch_history,
            past=past,
            listeners=listeners,
        )
        self._stream, self._track_managers = stream, track_managers
        for name in _INITIAL_NAMESPACES if past is None else ():
            self.create(resources.NAMESPACES, "", {"metadata": {"name": name}})
        self._first_listed = past.version if past else self.resource_version

    # -------------------------------------------------------------- reading

    def get(
        self, resource: resources.ResourceType, namespace: str, name: str
    ) -> stored_objects.Stored:
        """Return the object; raises StatusError 404 if it does not exist."""
        return conversion.outward(resource, self._found(resource, namespace, name))

    def get_at(
        self, resource: resources.ResourceType, namespace: str, name: str, version: int
    ) -> stored_objects.Stored:
        """Return the object as it was at a version, which the history must still reach."""
        for commit in self.commits_after(resource, version):
            if (commit.object.namespace, commit.object.name) == (namespace, name):
                if commit.previous is None:
                    raise status_errors.not_found(resource, name)
                return conversion.outward(resource, commit.previous)
        return self.get(resource, namespace, name)

    def has(self, resource: resources.ResourceType, namespace: str, name: str) -> bool:
        return self.find(resource, namespace, name) is not None

    def select(self, selection: watch_cache.Selection) -> list[stored_objects.Stored]:
        """Return the selected objects, ordered by namespace and name."""
        return _listed(selection, self.all_of(selection.resource))

    def select_at(
        self, selection: watch_cache.Selection, version: int
    ) -> list[stored_objects.Stored]:
        """Return the objects that were selected at a version.

        Raises StatusError 410 if the version is no longer available.
        """
        if version < self._first_listed:
            raise status_errors.expired(version, self._first_listed)
        return _listed(selection, self.all_at(selection.resource, version))

    def _found(
        self, resource: resources.ResourceType, namespace: str, name: str
    ) -> stored_objects.Stored:
        if (stored := self.find(resource, namespace, name)) is None:
            raise status_errors.not_found(resource, name)
        return stored

    # -------------------------------------------------------------- writing

    def create(
        self,
        resource: resources.ResourceType,
        namespace: str,
        document: Document,
        **write: Unpack[Write],
    ) -> stored_objects.Stored:
        writer = self._writer(resource, **write)
        preconditions.require_new(resource, namespace, document)
        resource_strategies.of(resource).default(resource, document, now=self._now)
        if self._track_managers:
            entries = field_managers.of_created(document, writer)
            generic.set_or_drop(document["metadata"], "managedFields", entries)
        return self._commit_new(writer, namespace, document)

    def update(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        document: Document,
        **write: Unpack[Write],
    ) -> stored_objects.Stored:
        """Replace an object, or the part of it that the subresource writes.

        Raises StatusError 409 if the document is not based on the current version.
        """
        old = self._found(resource, namespace, name)
        writer = self._writer(resource, **write)
        meta = preconditions.require_same(resource, old, document)
        preconditions.require_version(resource, old, meta, subresource=writer.subresource)
        return self._replace(writer, old, document)

    def patch(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        change: Callable[[Document], Document],
        **write: Unpack[Write],
    ) -> stored_objects.Stored:
        """Change the current version of an object.

        A patch without a resourceVersion cannot conflict.
        """
        old = self._found(resource, namespace, name)
        document = change(conversion.outward(resource, old).document())
        preconditions.require_patchable(resource, old, document)
        return self._replace(self._writer(resource, **write), old, document)

    def apply(
        self,
        resource: resources.ResourceType,
        namespace: str,
        name: str,
        configuration: Document,
        *,
        force: bool = False,
        **write: Unpack[Write],
    ) -> tuple[stored_objects.Stored, bool]:
        """Apply a configuration (server-side apply).

        `force`: take ownership of conflicting fields instead of failing with 409. Returns (the
        object, whether it was created).
        """
        strategy = resource_strategies.of(resource)
        writer = self._writer(resource, operation="Apply", **write)
        old = self.find(resource, namespace, name)
        if old is None:
            if writer.subresource:
                raise status_errors.not_found(resource, name)
            document = server_side_apply.apply_to_nothing(configuration, writer, name)
            preconditions.require_new(resource, namespace, document)
            strategy.default(resource, document, now=self._now)
            return self._commit_new(writer, namespace, document), True
        live = conversion.outward(resource, old).document()
        document = server_side_apply.apply(configuration, live, writer, force=force)
        preconditions.require_patchable(resource, old, document)
        strategy.default(resource, document, now=self._now)
        return self._commit_change(writer, old, live, document), False

    def bind(self, namespace: str, name: str, binding: Document, *, dry_run: bool = False) -> None:
        """Bind a pod to a node; raises StatusError 409 if it cannot be bound."""
        node = pods.target(binding)
        old = self._found(resources.PODS, namespace, name)
        preconditions.require_current(resources.PODS, old, binding.get("metadata") or {})
        pod = pods.bind(old.document(), node, binding, now=self._now())
        self.put(resources.PODS, old, pod, dry_run=dry_run)

    def _writer(
        self,
        resource: resources.ResourceType,
        *,
        operation: Literal["Apply", "Update"] = "Update",
        **write: Unpack[Write],
    ) -> field_managers.FieldWriter:
        reset_fields = resource_strategies.of(resource).reset_fields(write.get("subresource", ""))
        return field_managers.FieldWriter(
            resource=resource,
            operation=operation,
            now=self._now(),
            reset_fields=reset_fields,
            **write,
        )

    def _commit_new(
        self, writer: field_managers.FieldWriter, namespace: str, document: Document
    ) -> stored_objects.Stored:
        """Convert, name, prepare, admit, validate and commit a new object with its defaults."""
        strategy = resource_strategies.of(writer.resource)
        resource = strategy.resource
        document = conversion.inward(writer.resource, document, now=self._now)
        meta = document["metadata"]
        has_version = preconditions.names_version(meta)
        preconditions.complete_name(
            meta, self._stream, is_taken=lambda taken: self.has(resource, namespace, taken)
        )
        admission.require_namespace(self, resource, namespace, meta.get("name", ""))
        strategy.prepare_for_create(document, now=writer.now)
        admission.admit(self, resource, document, None)
        errors = strategy.errors(document, writer.resource, self._labels(namespace))
        _require_none(resource, document, errors)
        if has_version and not writer.dry_run:  # a check of the storage
            why = "resourceVersion should not be set on objects to be created"
            raise status_errors.StatusError(500, "", why)
        if (taken := self.find(resource, namespace, meta["name"])) is not None:
            raise status_errors.already_exists(resource, meta["name"], deleting=taken.deleting)
        meta["uid"] = str(uuid.UUID(int=self._stream.getrandbits(128), version=4))
        meta["creationTimestamp"] = writer.now
        new = self.put(resource, None, document, dry_run=writer.dry_run)
        return conversion.outward(writer.resource, new)

    def _replace(
        self, writer: field_managers.FieldWriter, old: stored_objects.Stored, document: Document
    ) -> stored_objects.Stored:
        """Set default values and metadata.managedFields, in place, and commit."""
        live = conversion.outward(writer.resource, old).document()
        resource_strategies.of(writer.resource).default(writer.resource, document, now=self._now)
        entries = live["metadata"].get("managedFields")
        if self._track_managers:
            entries = field_managers.after_update(live, document, writer)
        generic.set_or_drop(document["metadata"], "managedFields", entries)
        return self._commit_change(writer, old, live, document)

    def _commit_change(
        self,
        writer: field_managers.FieldWriter,
        old: stored_objects.Stored,
        live: Document,
        document: Document,
    ) -> stored_objects.Stored:
        """Convert, prepare, admit, validate and commit a changed object.

        `live` is `old` in the version of the writer. A change of times alone is no commit.
        """
        served, strategy = writer.resource, resource_strategies.of(writer.resource)
        resource = strategy.resource
        before = live if resource is served else old.document()
        document = conversion.inward(served, document, now=self._now)
        strategy.prepare_for_update(document, before, subresource=writer.subresource)
        admission.admit(self, resource, document, before)
        labels = self._labels(old.namespace)
        errors = strategy.update_errors(document, before, writer.subresource, labels)
        _require_none(resource, document, errors)
        document["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"]
        if document == before or field_managers.same_but_for_times(document, before):
            return conversion.outward(served, old)  # no change: no commit, no event
        is_gone = old.deleting and object_deletion.is_done(resource, document)
        if is_gone and not writer.dry_run:
            self.remove(resource, old)
        new = self.put(resource, old, document, dry_run=writer.dry_run or is_gone)
        return conversion.outward(served, new)

    def _labels(self, namespace: str) -> generic.Labels:
        return lambda: dict(admission.namespace_of(self, namespace).labels)

    # -------------------------------------------------------------- deleting

    def evict(self, namespace: str, name: str, options: object_deletion.DeleteOptions) -> None:
        """Set the condition `DisruptionTarget` of a pod and delete it, whatever its budget."""
        self.evict_pod(self._found(resources.PODS, namespace, name), options)

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
        old = self._found(resource, namespace, name)
        admission.require_mortal(resource, name)
        last, gone = self.delete_object(resources.table_of(resource), old, options)
        return conversion.outward(resource, last), gone


def _listed(
    selection: watch_cache.Selection, objects: list[stored_objects.Stored]
) -> list[stored_objects.Stored]:
    resource, selected = selection.resource, selection.among(objects)
    if resources.table_of(resource) is resource:
        return selected
    return [conversion.outward(resource, stored) for stored in selected]


def _require_none(
    resource: resources.ResourceType, document: Document, errors: Iterable[Cause]
) -> None:
    """Raise StatusError 422 if there are errors in an object."""
    if causes := list(errors):
        meta = document["metadata"]
        name = meta.get("name") or meta.get("generateName", "")
        raise status_errors.invalid(resource, name, causes)
