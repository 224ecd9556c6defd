"""What is done to a pod by writing to a subresource of it: bindings and evictions."""

import dataclasses
from typing import Any

from harness.apiserver import bodies, media, options, requesting, resources, statuses
from harness.apiserver import store as stores

Document = dict[str, Any]
_BINDINGS = resources.carried_by(resources.PODS, "binding")
_EVICTIONS = resources.carried_by(resources.PODS, "eviction")


def bind(
    store: stores.Store, request: requesting.Request, target: requesting.Target
) -> bodies.Validation:
    """Bind the pod of the path, or the one that the binding names when it was sent to none."""
    wanted, validation = _read(request, _BINDINGS)
    name = _name(wanted, target, "Binding")
    store.bind(target.namespace, name, wanted, dry_run=request.dry_run)
    return validation


def evict(
    store: stores.Store, request: requesting.Request, target: requesting.Target
) -> bodies.Validation:
    """Evict the pod of the path."""
    wanted, validation = _read(request, _EVICTIONS)
    name = _name(wanted, target, "Eviction")
    how = options.deletion_options(wanted.get("deleteOptions") or {})
    how = dataclasses.replace(how, dry_run=how.dry_run or request.dry_run)
    store.evict(target.namespace, name, how)
    return validation


def _read(
    request: requesting.Request, kind: resources.ResourceType
) -> tuple[Document, bodies.Validation]:
    validation = options.validation(request)
    return bodies.read(media.json_body(request), kind, validation), validation


def _name(wanted: Document, target: requesting.Target, kind: str) -> str:
    """The name of the pod; 400 when the body names another one than the path."""
    name: str = (wanted.get("metadata") or {}).get("name") or target.name
    if target.name and name != target.name:
        raise statuses.bad_request(f"name in URL does not match name in {kind} object")
    return name
