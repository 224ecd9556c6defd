"""DeviceTaintRules. After k8s.io/kubernetes/pkg/registry/resource/devicetaintrule/strategy.go."""

from collections.abc import Callable, Iterable

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.dra import device_taints


class TaintRuleStrategy(generic.Strategy):
    """Rules that taint devices."""

    metadata_kept_by_status = generic.USER_METADATA

    def default(
        self, served: resources.ResourceType, document: Document, *, now: Callable[[], str]
    ) -> None:
        """Set `timeAdded` of the taint as well; other versions get it after the conversion."""
        super().default(served, document, now=now)
        if served is self.resource:
            set_time_added([document["spec"]["taint"]], now)

    def validate(self, document: Document, served: resources.ResourceType) -> Iterable[Cause]:
        """Validate the selector and the taint."""
        return device_taints.taint_rule(document)

    def validate_update(
        self, document: Document, old: Document, *, subresource: str
    ) -> Iterable[Cause]:
        """Validate the status if it is written, else the selector and the taint."""
        rule = (
            device_taints.taint_rule_status if subresource == "status" else device_taints.taint_rule
        )
        return rule(document, old)


def set_time_added(taints: Iterable[Document], now: Callable[[], str]) -> None:
    """Set the time of taints that do not have one, in place."""
    for taint in taints:
        if taint.get("timeAdded") is None:
            taint["timeAdded"] = now()
