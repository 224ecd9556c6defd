"""ConfigMaps and Secrets.

After k8s.io/kubernetes/pkg/registry/core/{configmap,secret}/strategy.go.
"""

from collections.abc import Iterable

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.core import config_maps


class ConfigMapStrategy(generic.Strategy):
    """Config maps."""

    def validate(self, document: Document, served: resources.ResourceType) -> Iterable[Cause]:
        """Validate the keys and the total size."""
        return config_maps.config_map(document)

    def validate_update(
        self, document: Document, old: Document, *, subresource: str
    ) -> Iterable[Cause]:
        """Validate the new data, and that an immutable one does not change."""
        return config_maps.config_map_change(document, old)


class SecretStrategy(generic.Strategy):
    """Secrets."""

    def validate(self, document: Document, served: resources.ResourceType) -> Iterable[Cause]:
        """Validate the keys and the total size."""
        return config_maps.secret(document)

    def validate_update(
        self, document: Document, old: Document, *, subresource: str
    ) -> Iterable[Cause]:
        """Validate the new data, and that an immutable one does not change."""
        return config_maps.secret_change(document, old)
