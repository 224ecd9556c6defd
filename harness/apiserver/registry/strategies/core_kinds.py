"""Namespaces, nodes, events and leases.

After the strategies in k8s.io/kubernetes/pkg/registry/core and /coordination.
"""

from collections.abc import Iterable

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation import small_kinds

_NAME_LABEL = "kubernetes.io/metadata.name"
_FINALIZER = "kubernetes"
"""The finalizer that waits until the namespace is empty."""


class NamespaceStrategy(generic.Strategy):
    """Namespaces: only the `finalize` subresource changes the spec of an existing one."""

    def prepare_for_create(self, document: Document, *, now: str) -> None:
        """Set the finalizer that empties the namespace, and the label with its name."""
        meta = document["metadata"]
        finalizers = (document.get("spec") or {}).get("finalizers") or []
        if _FINALIZER not in finalizers:
            finalizers = [*finalizers, _FINALIZER]
        document["spec"] = {"finalizers": finalizers}
        meta.setdefault("labels", {})[_NAME_LABEL] = meta.get("name", "")
        super().prepare_for_create(document, now=now)

    def new_status(self, document: Document) -> Document:
        """Return phase Active."""
        return {"phase": "Active"}

    def keep_unwritable(self, document: Document, old: Document, subresource: str) -> None:
        """Restore the spec as well unless `finalize` writes it."""
        super().keep_unwritable(document, old, subresource)
        if subresource not in ("status", "finalize"):
            generic.take_over(document, old, "spec")

    def validate_update(
        self, document: Document, old: Document, *, subresource: str
    ) -> Iterable[Cause]:
        """Validate the finalizers of the spec if they can change."""
        return small_kinds.namespace(document) if subresource == "finalize" else ()


class NodeStrategy(generic.Strategy):
    """Nodes: a kubelet registers its node together with the node's status."""

    keeps_new_status = True


class EventStrategy(generic.Strategy):
    """Events: only new ones are validated, and small_kinds.k8s.io has stricter rules."""

    def validate(self, document: Document, served: resources.ResourceType) -> Iterable[Cause]:
        """Validate by the rules of the group in which the client sent the event."""
        rule = small_kinds.new_event if served is resources.NEW_EVENTS else small_kinds.event
        return rule(document)


class LeaseStrategy(generic.Strategy):
    """Leases: a PUT creates them, and must have a resourceVersion to change them."""

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Drop fields of the gate CoordinatedLeaderElection."""
        generic.drop_new(document, old, "spec", "strategy")
        generic.drop_new(document, old, "spec", "preferredHolder")
