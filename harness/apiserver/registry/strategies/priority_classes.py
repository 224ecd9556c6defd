"""PriorityClasses. After k8s.io/kubernetes/pkg/registry/scheduling/priorityclass/strategy.go."""

from collections.abc import Iterable

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.core import small_kinds


class PriorityClassStrategy(generic.Strategy):
    """Priority classes."""

    def validate(self, document: Document, served: resources.ResourceType) -> Iterable[Cause]:
        """Validate the name, the value and the preemption policy."""
        return small_kinds.priority_class(document)

    def validate_update(
        self, document: Document, old: Document, *, subresource: str
    ) -> Iterable[Cause]:
        """Validate that value and preemption policy do not change."""
        return small_kinds.priority_class_change(document, old)
