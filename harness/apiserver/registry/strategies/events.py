"""Events, which are served in the core group and in events.k8s.io.

After k8s.io/kubernetes/pkg/registry/core/event/strategy.go.
"""

from collections.abc import Iterable

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.core import events


class EventStrategy(generic.Strategy):
    """Events: only new ones are validated, and events.k8s.io has stricter rules."""

    def validate(self, document: Document, served: resources.ResourceType) -> Iterable[Cause]:
        """Validate by the rules of the group in which the client sent the event."""
        rule = events.new_event if served is resources.NEW_EVENTS else events.event
        return rule(document)
