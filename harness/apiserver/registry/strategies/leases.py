"""Leases. After k8s.io/kubernetes/pkg/registry/coordination/lease/strategy.go."""

from collections.abc import Iterable

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.core import small_kinds


class LeaseStrategy(generic.Strategy):
    """Leases: a PUT creates them, and must have a resourceVersion to change them."""

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Drop fields of the gate CoordinatedLeaderElection."""
        generic.drop_new(document, old, "spec", "strategy")
        generic.drop_new(document, old, "spec", "preferredHolder")

    def validate(self, document: Document, served: resources.ResourceType) -> Iterable[Cause]:
        """Validate durations and transitions."""
        return small_kinds.lease(document)

    def validate_update(
        self, document: Document, old: Document, *, subresource: str
    ) -> Iterable[Cause]:
        """Validate durations and transitions."""
        return small_kinds.lease(document)
