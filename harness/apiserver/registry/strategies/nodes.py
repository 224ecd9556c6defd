"""Nodes. After k8s.io/kubernetes/pkg/registry/core/node/strategy.go."""

from collections.abc import Iterable

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.core import node_rules


class NodeStrategy(generic.Strategy):
    """Nodes: a kubelet registers its node together with the node's status."""

    keeps_new_status = True

    def validate(self, document: Document, served: resources.ResourceType) -> Iterable[Cause]:
        """Validate the spec and the status."""
        return node_rules.node(document)

    def validate_update(
        self, document: Document, old: Document, *, subresource: str
    ) -> Iterable[Cause]:
        """Validate the spec; a write of the status is not checked."""
        return () if subresource == "status" else node_rules.node_change(document, old)
