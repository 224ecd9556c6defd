"""The status of the claim for a pod's extended resources: which request is for which container.

After validatePodExtendedResourceClaimStatus in k8s.io/kubernetes/pkg/apis/core/validation.
"""

from collections.abc import Iterator, Mapping

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import formats

_NO_CONTAINER = (
    "must match the name of an entry in spec.initContainers.name or spec.containers.name"
)
_NO_RESOURCE = (
    "must match the extended resource name of an entry in spec.initContainers.resources.requests "
    "or spec.containers.resources.requests"
)
_KEYS = ("containerName", "resourceName", "requestName")


def extended_claim_status(status: Document, spec: Document, at: str) -> Iterator[Cause]:
    """Validate `status.extendedResourceClaimStatus` of a pod with this spec."""
    containers = {
        container.get("name") or "": container
        for key in ("initContainers", "containers")
        for container in spec.get(key) or ()
    }
    yield from _mappings(status.get("requestMappings") or [], containers, at)
    if name := status.get("resourceClaimName"):
        yield from formats.check(f"{at}.resourceClaimName", name, formats.subdomain)
    else:
        yield field_errors.required(f"{at}.resourceClaimName")


def _mappings(
    mappings: list[Document], containers: Mapping[str, Document], at: str
) -> Iterator[Cause]:
    if not mappings:
        why = "at least one request mapping is required"
        yield field_errors.required(f"{at}.requestMappings", why)
    seen: set[tuple[str, ...]] = set()
    for index, mapping in enumerate(mappings):
        here = f"{at}.requestMappings[{index}]"
        values = tuple(mapping.get(key) or "" for key in _KEYS)
        yield from _known(values[0], values[1], containers, here)
        # Upstream names the field without its index.
        yield from formats.check(f"{at}.requestName", values[2], formats.label)
        if values in seen:
            for key, value in zip(_KEYS, values, strict=True):
                yield field_errors.duplicate(f"{here}.{key}", value)
        seen.add(values)


def _known(
    container: str, resource: str, containers: Mapping[str, Document], at: str
) -> Iterator[Cause]:
    """Require a container of the pod, and a resource that it requests."""
    if container not in containers:
        yield field_errors.invalid(f"{at}.containerName", container, _NO_CONTAINER)
        return
    resources = containers[container].get("resources") or {}
    if resource not in (resources.get("requests") or {}):
        yield field_errors.invalid(f"{at}.resourceName", resource, _NO_RESOURCE)
