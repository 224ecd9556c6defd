"""Admission plugins that read other objects: NamespaceLifecycle and Priority."""

from harness.apiserver.admission import pod_admission
from harness.apiserver.errors import status_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import object_tables, stored_objects

_IMMORTAL = ("default", "kube-public", "kube-system")


class Plugins:
    """The admission plugins of one store."""

    def __init__(self, objects: object_tables.Objects) -> None:
        self._objects = objects

    def namespace_labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a namespace; raises StatusError 404 if it does not exist."""
        return dict(self._namespace(namespace).labels)

    def require_namespace(
        self, resource: resources.ResourceType, namespace: str, name: str
    ) -> None:
        """Check that a new object may be created in its namespace.

        Raises StatusError 404 if the namespace does not exist, 403 if it is terminating.
        """
        if resource.namespaced and self._namespace(namespace).deleting:
            raise _terminating(resource, namespace, name)

    def _namespace(self, name: str) -> stored_objects.Stored:
        namespace = self._objects.find(resources.NAMESPACES, "", name)
        if namespace is None:
            raise status_errors.not_found(resources.NAMESPACES, name)
        return namespace

    def require_mortal(self, resource: resources.ResourceType, name: str) -> None:
        """Raise StatusError 403 for the deletion of a system namespace."""
        if resource is resources.NAMESPACES and name in _IMMORTAL:
            raise status_errors.denied(resource, name, "this namespace may not be deleted")

    def admit(
        self, resource: resources.ResourceType, document: Document, old: Document | None
    ) -> None:
        """Change a new or changed pod, in place; raises StatusError 403 to reject it."""
        if resource is not resources.PODS:
            return
        pod_admission.tolerate(document["spec"])
        if old is not None:
            pod_admission.keep_priority(document["spec"], old["spec"])
            return
        pod_admission.prioritise(
            document,
            find_class=self._find_class,
            classes=self._priority_classes,
        )

    def _priority_classes(self) -> list[Document]:
        return [item.document() for item in self._objects.all_of(resources.PRIORITY_CLASSES)]

    def _find_class(self, name: str) -> Document | None:
        stored = self._objects.find(resources.PRIORITY_CLASSES, "", name)
        return stored.document() if stored else None


def _terminating(
    resource: resources.ResourceType, namespace: str, name: str
) -> status_errors.StatusError:
    """Return the error with the cause that tells controllers not to retry."""
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    cause = Cause(
        "NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace"
    )
    return status_errors.denied(resource, name, why, causes=[cause])
