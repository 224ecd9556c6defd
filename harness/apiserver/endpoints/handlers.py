"""The handler of each kind of request for resources; `server.watch_streams` serves watches."""

import dataclasses
from collections.abc import Callable
from typing import Any

from harness.apiserver.endpoints import (
    access_reviews,
    list_options,
    request_info,
    request_options,
    resource_requests,
    response_encoding,
    responses,
)
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import object_deletion, preconditions, resource_strategies
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects

_LONG_LIST = 100
"""Number of objects above which a list is encoded piece by piece, between other requests."""


Step = Callable[[Any], responses.Response]


class Handler:
    """Answers requests for resources from a store."""

    def __init__(
        self,
        store: stores.Store,
        *,
        now: Callable[[], str],
        in_pieces: bool = False,
        overlooks_finalizers: bool = False,
    ) -> None:
        """Return long lists as `Response.pieces` if `in_pieces` is set.

        `overlooks_finalizers`: remove what is deleted at once, as `DeleteOptions` says.
        """
        self._overlooks = overlooks_finalizers
        self._store = store
        self._now = now
        self._in_pieces = in_pieces
        self._steps: dict[type[resource_requests.AnyRequest], Step] = {
            resource_requests.Get: self._get,
            resource_requests.List: self._list,
            resource_requests.Create: self._create,
            resource_requests.Update: self._update,
            resource_requests.Patch: self._patch,
            resource_requests.Apply: self._apply,
            resource_requests.Delete: self._delete,
            resource_requests.DeleteCollection: self._delete_collection,
        }
        self._subresources: dict[str, Step] = {
            "binding": self._bind,
            "eviction": self._evict,
        }
        """The steps for subresources whose bodies do not carry the object."""

    def answer(self, request: resource_requests.AnyRequest) -> responses.Response:
        """Return the response to a request for a resource. Raises StatusError if it fails."""
        target = request.target
        if not target.resource.is_stored:
            return self._answer_unstored(request)
        step = self._subresources.get(target.subresource) or self._steps[type(request)]
        return step(request)

    def _answer_unstored(self, request: resource_requests.AnyRequest) -> responses.Response:
        """Respond for a resource without objects: a review, a binding, or an empty list."""
        resource = request.target.resource
        match request:
            case resource_requests.Create() if resource.kind == "Binding":
                return self._bind(request)
            case resource_requests.Create():
                return responses.of_document(access_reviews.review(request), 201)
            case resource_requests.List():
                return self._page(request, list_options.Page([], {}))
        raise status_errors.not_found(resource, request.target.name)

    # -------------------------------------------------------------- reading

    def _get(self, request: resource_requests.Get) -> responses.Response:
        target = request.target
        list_options.require_reached(self._store, request.version)
        stored = self._store.get(target.resource, target.namespace, target.name)
        return self._object(request, stored)

    def _list(self, request: resource_requests.List) -> responses.Response:
        page = list_options.page(self._store, request.options)
        if self._in_pieces and len(page.objects) > _LONG_LIST:
            pieces = self._rendering(request).pieces(page.objects, page.meta)
            return responses.Response(200, b"", pieces=pieces)
        return self._page(request, page)

    # -------------------------------------------------------------- writing

    def _create(
        self, request: resource_requests.Create | resource_requests.Update
    ) -> responses.Response:
        target, options = request.target, request.options
        stored = self._store.create(
            target.resource,
            target.namespace,
            request.document,
            manager=options.manager,
            dry_run=options.dry_run,
        )
        return self._written(request, stored, 201)

    def _update(self, request: resource_requests.Update) -> responses.Response:
        target, options, document = request.target, request.options, request.document
        preconditions.require_name(document, target.name)
        if self._is_created_by_update(target):
            preconditions.require_none(target.resource, target.name, document)
            return self._create(request)
        stored = self._store.update(
            target.resource,
            target.namespace,
            target.name,
            document,
            subresource=target.subresource,
            manager=options.manager,
            dry_run=options.dry_run,
        )
        return self._written(request, stored, 200)

    def _is_created_by_update(self, target: request_info.Target) -> bool:
        if target.subresource or not target.resource.creates_on_update:
            return False
        return not self._store.has(target.resource, target.namespace, target.name)

    def _patch(self, request: resource_requests.Patch) -> responses.Response:
        target, options = request.target, request.options
        stored = self._store.patch(
            target.resource,
            target.namespace,
            target.name,
            request.change,
            subresource=target.subresource,
            manager=options.manager,
            dry_run=options.dry_run,
        )
        return self._written(request, stored, 200)

    def _written(
        self,
        request: resource_requests.Create | resource_requests.Update | resource_requests.Patch,
        stored: stored_objects.Stored,
        status: int,
    ) -> responses.Response:
        """Return the response with an object after a write, and the warnings about it."""
        strategy = resource_strategies.of(request.target.resource)
        warnings = (*request.options.validation.warnings, *strategy.warnings(stored))
        return self._object(request, stored, status, warnings)

    def _apply(self, request: resource_requests.Apply) -> responses.Response:
        target = request.target
        stored, is_new = self._store.apply(
            target.resource,
            target.namespace,
            target.name,
            request.configuration,
            subresource=target.subresource,
            dry_run=request.options.dry_run,
        )
        return self._object(request, stored, 201 if is_new else 200)

    def _bind(self, request: resource_requests.Create) -> responses.Response:
        bind(self._store, request)
        return _success(request)

    def _evict(self, request: resource_requests.Create) -> responses.Response:
        evict(self._store, request)
        return _success(request)

    # -------------------------------------------------------------- deleting

    def _delete(self, request: resource_requests.Delete) -> responses.Response:
        target, resource = request.target, request.target.resource
        options = dataclasses.replace(request.options, overlooks_finalizers=self._overlooks)
        last, is_gone = self._store.delete(resource, target.namespace, target.name, options)
        if not is_gone or resource.deletion_returns_object:
            return self._object(request, last)
        details = status_errors.about(resource, last.name) | {"uid": last.uid}
        return responses.of_document(status_errors.success(details))

    def _delete_collection(self, request: resource_requests.DeleteCollection) -> responses.Response:
        """Delete the listed objects one by one; return the list as it was before."""
        page = list_options.page(self._store, request.listed)
        for stored in page.objects:
            self._delete_listed(request.target.resource, stored, request.options)
        return self._page(request, page)

    def _delete_listed(
        self,
        resource: resources.ResourceType,
        stored: stored_objects.Stored,
        options: object_deletion.DeleteOptions,
    ) -> None:
        try:
            self._store.delete(resource, stored.namespace, stored.name, options)
        except status_errors.StatusError as error:
            if error.code != 404:  # a list at an older version may name deleted objects
                raise

    # -------------------------------------------------------------- responding

    def _rendering(self, request: resource_requests.AnyRequest) -> response_encoding.Rendering:
        return response_encoding.Rendering(request.form, request.target.resource, self._now)

    def _object(
        self,
        request: resource_requests.AnyRequest,
        stored: stored_objects.Stored,
        status: int = 200,
        warnings: tuple[str, ...] = (),
    ) -> responses.Response:
        body = self._rendering(request).one(stored)
        return responses.Response(status, body, warnings=warnings)

    def _page(
        self, request: resource_requests.AnyRequest, page: list_options.Page
    ) -> responses.Response:
        body = b"".join(self._rendering(request).pieces(page.objects, page.meta))
        return responses.Response(200, body)


def _success(request: resource_requests.Create) -> responses.Response:
    """Return the response after the creation of something that is not stored."""
    warnings = tuple(request.options.validation.warnings)
    return responses.of_document(status_errors.success(code=201), 201, warnings=warnings)


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
