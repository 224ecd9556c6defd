"""Creation of the `binding` and `eviction` subresources of pods."""

import dataclasses

from harness.apiserver.endpoints import content_types, request_info, request_options
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import request_objects

_BINDINGS = resources.carried_by(resources.PODS, "binding")
_EVICTIONS = resources.carried_by(resources.PODS, "eviction")


def bind(
    store: stores.Store, request: request_info.Request, target: request_info.Target
) -> request_objects.Validation:
    """Bind a pod to a node.

    The path names the pod, or the body does if it was posted to `bindings`. Raises 400 if they
    differ.
    """
    binding, validation = _read(request, _BINDINGS)
    name = _name(binding, target, "Binding")
    store.bind(target.namespace, name, binding, dry_run=request.dry_run)
    return validation


def evict(
    store: stores.Store, request: request_info.Request, target: request_info.Target
) -> request_objects.Validation:
    """Evict the pod that the path names. Raises 400 if the body names another pod."""
    eviction, validation = _read(request, _EVICTIONS)
    name = _name(eviction, target, "Eviction")
    options = request_options.deletion_options(eviction.get("deleteOptions") or {})
    options = dataclasses.replace(options, dry_run=options.dry_run or request.dry_run)
    store.evict(target.namespace, name, options)
    return validation


def _read(
    request: request_info.Request, kind: resources.ResourceType
) -> tuple[Document, request_objects.Validation]:
    validation = request_options.validation(request)
    return request_objects.read(content_types.json_body(request), kind, validation), validation


def _name(document: Document, target: request_info.Target, kind: str) -> str:
    """Return the name of the pod. Raises 400 if the body and the path differ."""
    name: str = (document.get("metadata") or {}).get("name") or target.name
    if target.name and name != target.name:
        raise status_errors.bad_request(f"name in URL does not match name in {kind} object")
    return name
