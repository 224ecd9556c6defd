"""What is done to a pod by writing to a subresource of it: bindings and evictions."""

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
    """Bind the pod of the path, or the one that the binding names when it was sent to none."""
    wanted, validation = _read(request, _BINDINGS)
    name = _name(wanted, target, "Binding")
    store.bind(target.namespace, name, wanted, dry_run=request.dry_run)
    return validation


def evict(
    store: stores.Store, request: request_info.Request, target: request_info.Target
) -> request_objects.Validation:
    """Evict the pod of the path."""
    wanted, validation = _read(request, _EVICTIONS)
    name = _name(wanted, target, "Eviction")
    how = request_options.deletion_options(wanted.get("deleteOptions") or {})
    how = dataclasses.replace(how, dry_run=how.dry_run or request.dry_run)
    store.evict(target.namespace, name, how)
    return validation


def _read(
    request: request_info.Request, kind: resources.ResourceType
) -> tuple[Document, request_objects.Validation]:
    validation = request_options.validation(request)
    return request_objects.read(content_types.json_body(request), kind, validation), validation


def _name(wanted: Document, target: request_info.Target, kind: str) -> str:
    """The name of the pod; 400 when the body names another one than the path."""
    name: str = (wanted.get("metadata") or {}).get("name") or target.name
    if target.name and name != target.name:
        raise status_errors.bad_request(f"name in URL does not match name in {kind} object")
    return name
