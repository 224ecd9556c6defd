"""ResourceClaims. After k8s.io/kubernetes/pkg/registry/resource/resourceclaim/strategy.go."""

from collections.abc import Iterable

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry.strategies import generic
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.dra import claim_status, resource_claims


class ClaimStrategy(generic.Strategy):
    """Resource claims: a write of the status changes the status only."""

    metadata_kept_by_status = generic.USER_METADATA
    reset_by_status = ("metadata",)

    def keep_unwritable(self, document: Document, old: Document, subresource: str) -> None:
        """Drop the reports on devices that a write of the status deallocates."""
        super().keep_unwritable(document, old, subresource)
        if subresource == "status":
            drop_stale_reports(document, old)

    def drop_disabled_fields(self, document: Document, old: Document | None = None) -> None:
        """Normalize `requests: []` to null."""
        drop_empty_requests(document.get("spec") or {})

    def authorize(self, document: Document, *, namespace_labels: generic.Labels) -> Iterable[Cause]:
        """Allow `adminAccess` only in namespaces with the label for it."""
        return authorize_admin_access(document, namespace_labels)

    def authorize_update(
        self,
        document: Document,
        old: Document,
        *,
        subresource: str,
        namespace_labels: generic.Labels,
    ) -> Iterable[Cause]:
        """Allow allocations with `adminAccess` only in namespaces with the label for it."""
        if subresource != "status":
            return ()
        found = list(resource_claims.admin_result(document, old))
        return found if found and not resource_claims.is_admin_namespace(namespace_labels()) else ()

    def validate(self, document: Document, served: resources.ResourceType) -> Iterable[Cause]:
        """Validate the spec."""
        return resource_claims.claim(document)

    def validate_update(
        self, document: Document, old: Document, *, subresource: str
    ) -> Iterable[Cause]:
        """Validate the status if it is written, else that the spec does not change."""
        rule = (
            claim_status.claim_status_change
            if subresource == "status"
            else resource_claims.claim_change
        )
        return rule(document, old)


def drop_empty_requests(spec: Document) -> None:
    """Normalize `requests: []` to null in the spec of a claim, in place.

    managedFields tracks the empty list, storage omits it (`omitempty`).
    """
    devices = spec.get("devices") or {}
    if devices.get("requests") == []:
        devices["requests"] = None


def authorize_admin_access(document: Document, namespace_labels: generic.Labels) -> Iterable[Cause]:
    """Return an error for each request with `adminAccess` unless the namespace allows it."""
    found = list(resource_claims.admin_request(document))
    return found if found and not resource_claims.is_admin_namespace(namespace_labels()) else ()


def drop_stale_reports(claim: Document, old: Document) -> None:
    """Remove `status.devices` entries of devices that this update deallocates, in place."""
    status = claim.get("status") or {}
    reports = status.get("devices")
    if not reports:
        return
    if deallocated := _allocated(old) - _allocated(claim):
        status["devices"] = [
            item for item in reports if claim_status.device_key(item) not in deallocated
        ]
        if not status["devices"]:
            del status["devices"]


def _allocated(claim: Document) -> set[tuple[str, ...]]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    return {claim_status.device_key(result) for result in results}
