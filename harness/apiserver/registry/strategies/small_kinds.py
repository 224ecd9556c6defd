"""Namespaces, nodes, events, leases and PodGroups.

After the strategies in k8s.io/kubernetes/pkg/registry: core, coordination and scheduling.
"""

from collections.abc import Iterator

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.json_codec import Document
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import feature_gates, resources
from harness.apiserver.validation import metadata, small_kinds

_NAME_LABEL = "kubernetes.io/metadata.name"
_FINALIZER = "kubernetes"
"""The finalizer that waits until the namespace is empty."""
PROTECTION = "scheduling.k8s.io/podgroup-protection"
"""Finalizer of every PodGroup."""
_OF_OTHER_GATES = ("schedulingConstraints", "priorityClassName", "priority")
"""Fields of TopologyAwareWorkloadScheduling and WorkloadAwarePreemption, which are off."""


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

    def update_errors(
        self, document: Document, old: Document, subresource: str, labels: generic.Labels
    ) -> Iterator[Cause]:
        """Validate the finalizers of the spec if they can change."""
        yield from metadata.changed(self.resource, document["metadata"], old["metadata"])
        if subresource == "finalize":
            yield from small_kinds.namespace(document)


class NodeStrategy(generic.Strategy):
    """Nodes: a kubelet registers its node together with the node's status."""

    keeps_new_status = True


class EventStrategy(generic.Strategy):
    """Events: only new ones are validated, and events.k8s.io has stricter rules."""

    def errors(
        self, document: Document, served: resources.ResourceType, labels: generic.Labels
    ) -> Iterator[Cause]:
        """Validate by the rules of the group in which the client sent the event."""
        yield from metadata.new(self.resource, document["metadata"])
        rule = small_kinds.new_event if served is resources.NEW_EVENTS else small_kinds.event
        yield from rule(document)


class LeaseStrategy(generic.Strategy):
    """Leases: a PUT creates them, and must have a resourceVersion to change them."""

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Drop fields of the gate CoordinatedLeaderElection."""
        generic.drop_new(document, old, "spec", "strategy")
        generic.drop_new(document, old, "spec", "preferredHolder")


class PodGroupStrategy(generic.Strategy):
    """PodGroups."""

    metadata_kept_by_status = generic.USER_METADATA
    reset_by_status = ("metadata",)

    def prepare_for_create(self, document: Document, *, now: str) -> None:
        """Add the finalizer, as the admission plugin PodGroupProtection does."""
        super().prepare_for_create(document, now=now)
        finalizers = document["metadata"].get("finalizers") or []
        if PROTECTION not in finalizers and feature_gates.is_on(feature_gates.POD_GROUPS):
            document["metadata"]["finalizers"] = [*finalizers, PROTECTION]

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Drop the fields of other gates, and the claims unless their gate is on."""
        for key in _OF_OTHER_GATES:
            generic.drop_new(document, old, "spec", key)
        if not feature_gates.is_on(feature_gates.GROUP_CLAIMS):
            generic.drop_new(document, old, "spec", "resourceClaims")
