"""Understand a request for a resource: target, form of the response, options and body.

Everything that can be wrong with a request, whatever the store has, is found here.
"""

import functools
from collections.abc import Callable
from typing import Any

from harness.apiserver.endpoints import (
    list_options,
    negotiation,
    request_info,
    request_options,
    resource_requests,
)
from harness.apiserver.errors import status_errors
from harness.apiserver.managedfields import server_side_apply
from harness.apiserver.patch import json_patches
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import request_objects

_APPLY = "application/apply-patch+yaml"
_PATCHES: dict[str, Callable[[resources.ResourceType, Document, Any], Document]] = {
    "application/json-patch+json": lambda _, document, patch: json_patches.json_patch(
        document, patch
    ),
    "application/merge-patch+json": lambda _, document, patch: json_patches.merge_patch(
        document, patch
    ),
    "application/strategic-merge-patch+json": lambda resource, document, patch: {
        **json_patches.strategic_patch(resource, document, patch),
        "apiVersion": resource.api_version,  # it does not change the kind, whatever it names
        "kind": resource.kind,
    },
}
_SERVED = ("binding", "eviction")
"""The subresources that are served, besides those whose bodies carry the whole object."""


def decode(
    request: request_info.Request, target: request_info.Target
) -> resource_requests.AnyRequest:
    """Return what a request for a target, which is not a watch, asks for.

    Raises StatusError 400, 405, 406, 413, 415, 422 or 501.
    """
    verb = request_info.verb_of(request.method, target)
    if not target.is_object and target.subresource not in _SERVED:
        raise status_errors.not_served(f"{target.resource.plural}/{target.subresource}")
    return _DECODERS[verb](request, target)


# ------------------------------------------------------------------ reads


def _get(request: request_info.Request, target: request_info.Target) -> resource_requests.Get:
    return resource_requests.Get(
        target=target,
        form=negotiation.of(request),
        version=list_options.object_version(request),
    )


def _list(request: request_info.Request, target: request_info.Target) -> resource_requests.List:
    return resource_requests.List(
        target=target,
        form=negotiation.of(request),
        options=list_options.of(request, target),
    )


# ------------------------------------------------------------------ writes


def _with_document(
    kind: type[resource_requests.Create | resource_requests.Update],
    request: request_info.Request,
    target: request_info.Target,
) -> resource_requests.Create | resource_requests.Update:
    options = request_options.of_write(request)
    form = negotiation.of(request)
    body = request_options.json_body(request, target)
    document = request_objects.read(body, target.body_type, options.validation)
    return kind(target=target, options=options, form=form, document=document)


def _patch(
    request: request_info.Request, target: request_info.Target
) -> resource_requests.Patch | resource_requests.Apply:
    content_type = request_options.content_type(request)
    if content_type == _APPLY and target.is_object:
        return _apply(request, target)
    if content_type not in _PATCHES:
        raise status_errors.unsupported_patch_type()
    options = request_options.of_write(request)
    return resource_requests.Patch(
        target=target,
        options=options,
        form=negotiation.of(request),
        change=_change(content_type, request.body, target, options.validation),
    )


def _change(
    content_type: str,
    body: bytes,
    target: request_info.Target,
    validation: request_objects.Validation,
) -> resource_requests.Change:
    """Return the change that a patch makes. Raises 400 if the patch cannot be decoded."""
    resource, apply = target.body_type, _PATCHES[content_type]
    patch = request_objects.parse(body)

    def change(document: Document) -> Document:
        changed = apply(resource, document, patch)
        return request_objects.patched(changed, resource, validation)

    return change


def _apply(request: request_info.Request, target: request_info.Target) -> resource_requests.Apply:
    request_options.require_manager(request)
    options = request_options.of_write(request)
    form = negotiation.of(request)
    configuration = server_side_apply.Configuration(
        document=server_side_apply.read(target.resource, request.body),
        manager=options.manager,
        force=request.flag("force"),
    )
    return resource_requests.Apply(
        target=target, form=form, configuration=configuration, options=options
    )


# ------------------------------------------------------------------ deletions


def _delete(request: request_info.Request, target: request_info.Target) -> resource_requests.Delete:
    return resource_requests.Delete(
        target=target,
        options=request_options.deletion(request_options.in_json(request, target)),
        form=negotiation.of(request),
    )


def _delete_collection(
    request: request_info.Request, target: request_info.Target
) -> resource_requests.DeleteCollection:
    return resource_requests.DeleteCollection(
        target=target,
        options=request_options.deletion(request_options.in_json(request, target)),
        form=negotiation.of(request),
        listed=list_options.of(request, target),
    )


_Decoder = Callable[[request_info.Request, request_info.Target], resource_requests.AnyRequest]
_DECODERS: dict[str, _Decoder] = {
    "get": _get,
    "list": _list,
    "create": functools.partial(_with_document, resource_requests.Create),
    "update": functools.partial(_with_document, resource_requests.Update),
    "patch": _patch,
    "delete": _delete,
    "deletecollection": _delete_collection,
}
