"""CustomResourceDefinitions and ValidatingAdmissionPolicies.

A write of their status changes the status only.

After k8s.io/apiextensions-apiserver/pkg/registry/customresourcedefinition/strategy.go and
k8s.io/kubernetes/pkg/registry/admissionregistration/validatingadmissionpolicy/strategy.go.
"""

from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme.json_document import Document


class DefinitionStrategy(generic.Strategy):
    """Custom resource definitions."""

    metadata_kept_by_status = generic.USER_METADATA

    def new_status(self, document: Document) -> Document:
        """Return a status with the version in which objects are stored."""
        versions = (document.get("spec") or {}).get("versions") or ()
        stored = [version.get("name") for version in versions if version.get("storage")]
        return {**(super().new_status(document) or {}), "storedVersions": stored[:1]}


class AdmissionPolicyStrategy(generic.Strategy):
    """Validating admission policies."""

    metadata_kept_by_status = generic.USER_METADATA
