"""Validation of new and changed objects: their metadata, and the checks of their strategy.

Kubernetes validates the metadata of a changed object twice, in general and with its kind, so each
mistake in it has two causes. After k8s.io/apiserver/pkg/registry/rest/{create,update}.go.
"""

from harness.apiserver.errors import status_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import object_meta

CAUSES_MAX = 1000
"""Maximum number of causes in a response."""


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
        *object_meta.new(strategy.resource, document["metadata"]),
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
    changed = list(object_meta.changed(meta, old["metadata"]))
    causes = [
        *object_meta.finalizers_of(meta),
        *changed,
        *strategy.authorize_update(
            document, old, subresource=subresource, namespace_labels=namespace_labels
        ),
        *changed,
        *object_meta.known_finalizers(strategy.resource, meta),
        *strategy.validate_update(document, old, subresource=subresource),
    ]
    if causes:
        raise _invalid(strategy.resource, document, causes)


def _invalid(
    resource: resources.ResourceType, document: Document, causes: list[Cause]
) -> status_errors.StatusError:
    meta = document["metadata"]
    name = meta.get("name") or meta.get("generateName", "")
    return status_errors.invalid(resource, name, causes[:CAUSES_MAX])
