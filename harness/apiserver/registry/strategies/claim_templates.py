"""ResourceClaimTemplates.

After k8s.io/kubernetes/pkg/registry/resource/resourceclaimtemplate/strategy.go.
"""

from collections.abc import Iterable

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry.strategies import claims, generic
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.dra import resource_claims


class ClaimTemplateStrategy(generic.Strategy):
    """Templates of resource claims."""

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Normalize `requests: []` to null."""
        claims.drop_empty_requests((document.get("spec") or {}).get("spec") or {})

    def authorize(self, document: Document, *, namespace_labels: generic.Labels) -> Iterable[Cause]:
        """Allow `adminAccess` only in namespaces with the label for it."""
        return claims.authorize_admin_access(document, namespace_labels)

    def validate(self, document: Document, served: resources.ResourceType) -> Iterable[Cause]:
        """Validate the spec."""
        return resource_claims.template(document)

    def validate_update(
        self, document: Document, old: Document, *, subresource: str
    ) -> Iterable[Cause]:
        """Validate that the spec does not change."""
        return resource_claims.template_change(document, old)
