"""The way of every write of an object, from the served version to the commit, and its validation.

After BeforeCreate and BeforeUpdate in k8s.io/apiserver/pkg/registry/rest, and their callers.
"""

import random
import uuid
from collections.abc import Callable

from harness.apiserver import admission
from harness.apiserver.errors import status_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.managedfields import field_managers
from harness.apiserver.registry import (
    conversion,
    object_deletion,
    preconditions,
    resource_strategies,
)
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import object_names, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import object_tables, stored_objects
from harness.apiserver.validation import metadata


class CommitPipeline:
    """Conversion, preparation, admission, validation and commit, for all resources of a store."""

    def __init__(
        self,
        objects: object_tables.Objects,
        plugins: admission.Plugins,
        *,
        now: Callable[[], str],
        stream: random.Random,
    ) -> None:
        self._objects, self._plugins = objects, plugins
        self._now, self._stream = now, stream

    def create(
        self,
        served: resources.ResourceType,
        namespace: str,
        document: Document,
        *,
        now: str,
        dry_run: bool,
    ) -> stored_objects.Stored:
        """Convert, name, prepare, admit, validate and commit a new object with its defaults.

        Returns what is stored.
        """
        strategy = resource_strategies.of(served)
        resource = strategy.resource
        document = conversion.inward(served, document, now=self._now)
        has_version = preconditions.names_version(document["metadata"])
        self._name(resource, namespace, document["metadata"])
        strategy.prepare_for_create(document, now=now)
        self._plugins.admit(resource, document, None)
        check_create(
            strategy,
            document,
            served=served,
            namespace_labels=lambda: self._plugins.namespace_labels(namespace),
        )
        if has_version and not dry_run:  # a check of the storage, which a dry run does not reach
            why = "resourceVersion should not be set on objects to be created"
            raise status_errors.StatusError(500, "", why)
        new = self._commit_new(resource, namespace, document, now=now, dry_run=dry_run)
        return conversion.outward(served, new)

    def _name(self, resource: resources.ResourceType, namespace: str, meta: Document) -> None:
        """Generate the name from `generateName` if it has none, in place.

        Raises StatusError 404 if the namespace does not exist, 403 if it is terminating.
        """
        object_names.complete(
            meta,
            self._stream,
            is_taken=lambda taken: self._objects.find(resource, namespace, taken) is not None,
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

    def replace(
        self,
        served: resources.ResourceType,
        old: stored_objects.Stored,
        live: Document,
        document: Document,
        *,
        subresource: str,
        dry_run: bool,
    ) -> stored_objects.Stored:
        """Convert, prepare, admit, validate and commit a changed object; return what is stored.

        `live` is `old` in the served version. A change of times alone is no commit.
        """
        strategy = resource_strategies.of(served)
        resource = strategy.resource
        before = live if resource is served else old.document()
        document = conversion.inward(served, document, now=self._now)
        strategy.prepare_for_update(document, before, subresource=subresource)
        self._plugins.admit(resource, document, before)
        check_update(
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


def check_create(
    strategy: generic.Strategy,
    document: Document,
    *,
    served: resources.ResourceType,
    namespace_labels: generic.Labels,
) -> None:
    """Raise StatusError 422 if a new object, in its stored form, is invalid.

    The client sent it as `served`.
    """
    causes = [
        *strategy.authorize(document, namespace_labels=namespace_labels),
        *metadata.new(strategy.resource, document["metadata"]),
        *strategy.validate(document, served),
    ]
    if causes:
        raise _invalid(strategy.resource, document, causes)


def check_update(
    strategy: generic.Strategy,
    document: Document,
    old: Document,
    *,
    subresource: str,
    namespace_labels: generic.Labels,
) -> None:
    """Raise StatusError 422 if a changed object, in its stored form, is invalid."""
    meta = document["metadata"]
    causes = [
        *metadata.finalizers_of(meta),
        *strategy.authorize_update(
            document, old, subresource=subresource, namespace_labels=namespace_labels
        ),
        *metadata.changed(meta, old["metadata"]),
        *metadata.known_finalizers(strategy.resource, meta),
        *strategy.validate_update(document, old, subresource=subresource),
    ]
    if causes:
        raise _invalid(strategy.resource, document, causes)


def _invalid(
    resource: resources.ResourceType, document: Document, causes: list[Cause]
) -> status_errors.StatusError:
    meta = document["metadata"]
    name = meta.get("name") or meta.get("generateName", "")
    return status_errors.invalid(resource, name, causes)
