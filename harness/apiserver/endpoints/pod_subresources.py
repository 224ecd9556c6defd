"""Creation of the `binding` and `eviction` subresources of pods."""

import dataclasses

from harness.apiserver.endpoints import request_options, resource_requests
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores


def bind(store: stores.Store, request: resource_requests.Create) -> None:
    """Bind a pod to a node.

    The path names the pod, or the body does if it was posted to `bindings`. Raises 400 if they
    differ.
    """
    namespace, name = request.target.namespace, _name(request)
    store.bind(namespace, name, request.document, dry_run=request.options.dry_run)


def evict(store: stores.Store, request: resource_requests.Create) -> None:
    """Evict the pod that the path names. Raises 400 if the body names another pod."""
    name = _name(request)
    options = request_options.deletion_options(request.document.get("deleteOptions") or {})
    options = dataclasses.replace(options, dry_run=options.dry_run or request.options.dry_run)
    store.evict(request.target.namespace, name, options)


def _name(request: resource_requests.Create) -> str:
    """Return the name of the pod. Raises 400 if the body and the path differ."""
    target = request.target
    name: str = (request.document.get("metadata") or {}).get("name") or target.name
    if target.name and name != target.name:
        kind = target.body_type.kind
        raise status_errors.bad_request(f"name in URL does not match name in {kind} object")
    return name
