"""The controller's metrics, with the names and labels of kube-controller-manager 1.36."""

import collections
from collections.abc import Iterable

from harness.metrics import instruments, metric_families
from harness.model.objects import Object
from harness.subject.claim_control import feature_gates
from harness.subject.objects import claims

EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""Annotation of a claim that the scheduler created for extended resources."""


class ControllerMetrics:
    """Counts what the controller creates, and the claims that there are."""

    def __init__(self) -> None:
        self._creations = instruments.Counter(
            "resourceclaim_controller_creates_total",
            "Number of ResourceClaims creation requests, categorized by creation status and "
            "admin access",
            ("status", "admin_access"),
        )

    def count_creation(self, status: str, *, admin_access: bool) -> None:
        """Count a request that created a claim (`success`), or did not (`failure`)."""
        self._creations.add(status, _text(flag=admin_access))

    def collect(self, present: Iterable[Object]) -> list[metric_families.Family]:
        """Return all families; `present` are the claims of the informer."""
        return [self._creations.collect(), _present(present)]


def _present(present: Iterable[Object]) -> metric_families.Family:
    counts = collections.Counter(map(_labels, present))
    return metric_families.Family(
        "resourceclaim_controller_resource_claims",
        "Number of ResourceClaims, categorized by allocation status, admin access, and source",
        "gauge",
        ("allocated", "admin_access", "source"),
        {labels: float(count) for labels, count in counts.items()},
    )


def _labels(claim: Object) -> tuple[str, str, str]:
    allocated = claims.allocation_of(claim) is not None
    admin_access = feature_gates.needs_admin_access(claim)
    return _text(flag=allocated), _text(flag=admin_access), _source(claim)


def _source(claim: Object) -> str:
    """Return what created the claim; empty: a user."""
    annotations = claim["metadata"].get("annotations") or {}
    if claims.POD_CLAIM_NAME in annotations:
        return "resource_claim_template"
    return "extended_resource" if EXTENDED_RESOURCE_CLAIM in annotations else ""


def _text(*, flag: bool) -> str:
    return "true" if flag else "false"
