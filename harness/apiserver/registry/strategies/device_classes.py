"""DeviceClasses. After k8s.io/kubernetes/pkg/registry/resource/deviceclass/strategy.go."""

from collections.abc import Iterable

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.dra import device_classes


class DeviceClassStrategy(generic.Strategy):
    """Device classes."""

    def validate(self, document: Document, served: resources.ResourceType) -> Iterable[Cause]:
        """Validate selectors and configuration."""
        return device_classes.device_class(document)

    def validate_update(
        self, document: Document, old: Document, *, subresource: str
    ) -> Iterable[Cause]:
        """Validate selectors and configuration; what is stored already may be invalid."""
        return device_classes.device_class(document, old)
