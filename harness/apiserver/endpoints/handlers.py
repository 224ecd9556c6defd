"""The handler of each verb except `watch`, which `server.watch_streams` serves."""

from collections.abc import Callable, Iterable
from typing import Any

from harness.apiserver.endpoints import (
    access_reviews,
    authentication,
    content_types,
    list_pages,
    non_resource,
    pod_subresources,
    request_attributes,
    request_info,
    request_options,
    response_encoding,
    responses,
    scale,
)
from harness.apiserver.errors import status_errors
from harness.apiserver.managedfields import server_side_apply
from harness.apiserver.patch import patches
from harness.apiserver.registry import object_deletion, preconditions, resource_strategies
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import request_objects
from harness.apiserver.storage import stored_objects

_STRATEGIC = "application/strategic-merge-patch+json"
_PATCHES: dict[str, Callable[[resources.ResourceType, Document, Any], Document]] = {
    "application/json-patch+json": lambda _, document, patch: patches.json_patch(document, patch),
    "application/merge-patch+json": lambda _, document, patch: patches.merge_patch(document, patch),
    _STRATEGIC: patches.strategic_patch,
}
_OBJECT_SUBRESOURCES = frozenset(
    {"approval", "ephemeralcontainers", "finalize", "resize", "status"}
)
"""Subresources whose requests and responses carry the whole object."""
_LONG_LIST = 100
"""Number of objects above which a list is encoded piece by piece, between other requests."""
_APPLY_TYPES = ("application/apply-patch+yaml",)
_PATCH_TYPES = (*_PATCHES, *_APPLY_TYPES)


Step = Callable[[request_info.Request, request_info.Target], responses.Response]


class Handler:
    """Answers requests from a store."""

    def __init__(
        self, store: stores.Store, *, now: Callable[[], str], in_pieces: bool = False
    ) -> None:
        """Return long lists as `Response.pieces` if `in_pieces` is set."""
        self._store = store
        self._now = now
        self._in_pieces = in_pieces
        self._steps: dict[str, Step] = {
            "list": self._list,
            "create": self._create,
            "deletecollection": self._delete_collection,
            "get": self._get,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
        }

    def answer(
        self,
        request: request_info.Request,
        user: authentication.User = authentication.ADMINISTRATOR,
    ) -> responses.Response:
        """Return the response to any request but a watch. Raises StatusError if it fails."""
        target = request_info.parse_target(request.path)
        if target is None:
            return non_resource.answer(request)
        verb = request_attributes.verb_of(request.method, target)
        request = content_types.in_json(request, target)
        if not target.resource.is_stored:
            return self._answer_unstored(request, target, verb, user)
        return self._step(verb, target)(request, target)

    def _step(self, verb: str, target: request_info.Target) -> Step:
        if not target.subresource:
            return self._steps[verb]
        if target.subresource == "binding":
            return self._bind
        if target.subresource == "eviction":
            return self._evict
        if target.subresource == "scale":
            return self._scale
        if target.subresource not in _OBJECT_SUBRESOURCES:
            raise status_errors.not_served(f"{target.resource.plural}/{target.subresource}")
        return self._steps[verb]

    def _answer_unstored(
        self,
        request: request_info.Request,
        target: request_info.Target,
        verb: str,
        user: authentication.User,
    ) -> responses.Response:
        """Respond for a resource without objects: a review, a binding, or an empty list."""
        resource = target.resource
        if verb == "create" and resource.kind.endswith("Review"):
            form = self._rendering(request, target)
            document = request_objects.read(
                content_types.json_body(request), resource, request_options.validation(request)
            )
            reviewed = access_reviews.answer(resource, document, user)
            return _document_response(reviewed, form, 201)
        if verb == "list":
            form = self._rendering(request, target, is_list=True)
            return responses.Response(200, form.page([], {}), form.content_type)
        if resource.kind == "Binding":
            return self._bind(request, target)
        raise status_errors.not_found(resource, target.name)

    # -------------------------------------------------------------- reading

    def _get(
        self, request: request_info.Request, target: request_info.Target
    ) -> responses.Response:
        form = self._rendering(request, target)
        list_pages.require_version(self._store, request)
        stored = self._store.get(target.resource, target.namespace, target.name)
        return _object_response(stored, form, 200)

    def _list(
        self, request: request_info.Request, target: request_info.Target
    ) -> responses.Response:
        form = self._rendering(request, target, is_list=True)
        page = list_pages.page(self._store, request.selection(target), request)
        if self._in_pieces and form.has_pieces and len(page.objects) > _LONG_LIST:
            pieces = form.pieces(page.objects, page.meta)
            return responses.Response(200, b"", form.content_type, pieces=pieces)
        return responses.Response(200, form.page(page.objects, page.meta), form.content_type)

    def _rendering(
        self, request: request_info.Request, target: request_info.Target, *, is_list: bool = False
    ) -> response_encoding.Rendering:
        return response_encoding.Rendering(request, target.resource, self._now, is_list=is_list)

    # -------------------------------------------------------------- writing

    def _create(
        self, request: request_info.Request, target: request_info.Target
    ) -> responses.Response:
        validation = request_options.validation(request)
        form = self._rendering(request, target)
        document = request_objects.read(
            content_types.json_body(request), target.resource, validation
        )
        return self._add(request, target, document, form, validation)

    def _add(
        self,
        request: request_info.Request,
        target: request_info.Target,
        document: Document,
        form: response_encoding.Rendering,
        validation: request_objects.Validation,
    ) -> responses.Response:
        stored = self._store.create(
            target.resource,
            target.namespace,
            document,
            manager=request_options.manager(request),
            dry_run=request.dry_run,
        )
        warnings = _warnings(validation, target.resource, stored)
        return _object_response(stored, form, 201, warnings)

    def _update(
        self, request: request_info.Request, target: request_info.Target
    ) -> responses.Response:
        validation = request_options.validation(request)
        form = self._rendering(request, target)
        document = request_objects.read(
            content_types.json_body(request), target.resource, validation
        )
        preconditions.require_name(document, target.name)
        if self._is_created_by_update(target):
            preconditions.require_none(target.resource, target.namespace, target.name, document)
            return self._add(request, target, document, form, validation)
        stored = self._store.update(
            target.resource,
            target.namespace,
            target.name,
            document,
            subresource=target.subresource,
            manager=request_options.manager(request),
            dry_run=request.dry_run,
        )
        warnings = _warnings(validation, target.resource, stored)
        return _object_response(stored, form, 200, warnings)

    def _is_created_by_update(self, target: request_info.Target) -> bool:
        strategy = resource_strategies.of(target.resource)
        if target.subresource or not strategy.allow_create_on_update:
            return False
        return not self._store.has(target.resource, target.namespace, target.name)

    def _patch(
        self, request: request_info.Request, target: request_info.Target
    ) -> responses.Response:
        content_type = content_types.content_type(request)
        if content_type not in _PATCH_TYPES:
            raise status_errors.unsupported_patch_type()
        if content_type in _APPLY_TYPES:
            request_options.require_manager(request)
        validation = request_options.validation(request)
        form = self._rendering(request, target)
        if content_type in _APPLY_TYPES:
            return self._apply(request, target, form)
        is_text = content_type != _STRATEGIC
        patch, problems = request_objects.decode_patch(request.body, validation, is_text=is_text)
        apply = _PATCHES[content_type]

        def change(document: Document) -> Document:
            changed = apply(target.resource, document, patch)
            return request_objects.patched(
                changed, target.resource, validation, problems, is_text=is_text
            )

        stored = self._store.patch(
            target.resource,
            target.namespace,
            target.name,
            change,
            subresource=target.subresource,
            manager=request_options.manager(request),
            dry_run=request.dry_run,
        )
        warnings = _warnings(validation, target.resource, stored)
        return _object_response(stored, form, 200, warnings)

    def _apply(
        self,
        request: request_info.Request,
        target: request_info.Target,
        form: response_encoding.Rendering,
    ) -> responses.Response:
        configuration = server_side_apply.Configuration(
            document=server_side_apply.read(target.resource, request.body),
            manager=request_options.manager(request),
            force=request.flag("force"),
        )
        stored, is_new = self._store.apply(
            target.resource,
            target.namespace,
            target.name,
            configuration,
            subresource=target.subresource,
            dry_run=request.dry_run,
        )
        return _object_response(stored, form, 201 if is_new else 200)

    def _scale(
        self, request: request_info.Request, target: request_info.Target
    ) -> responses.Response:
        form = self._rendering(request, target)
        return _document_response(scale.answer(self._store, request, target), form, 200)

    def _bind(
        self, request: request_info.Request, target: request_info.Target
    ) -> responses.Response:
        form = self._rendering(request, target)
        validation = pod_subresources.bind(self._store, request, target)
        return _document_response(status_errors.success(code=201), form, 201, validation.warnings)

    def _evict(
        self, request: request_info.Request, target: request_info.Target
    ) -> responses.Response:
        form = self._rendering(request, target)
        validation = pod_subresources.evict(self._store, request, target)
        return _document_response(status_errors.success(code=201), form, 201, validation.warnings)

    # -------------------------------------------------------------- deleting

    def _delete(
        self, request: request_info.Request, target: request_info.Target
    ) -> responses.Response:
        options = request_options.deletion(request)
        form = self._rendering(request, target)
        resource = target.resource
        last, is_gone = self._store.delete(resource, target.namespace, target.name, options)
        if not is_gone or resource_strategies.of(resource).returns_deleted_object:
            return _object_response(last, form, 200)
        details = status_errors.about(resource, last.name) | {"uid": last.uid}
        return _document_response(status_errors.success(details), form, 200)

    def _delete_collection(
        self, request: request_info.Request, target: request_info.Target
    ) -> responses.Response:
        """Delete the listed objects one by one; return the list as it was before."""
        options = request_options.deletion(request)
        form = self._rendering(request, target, is_list=True)
        page = list_pages.page(self._store, request.selection(target), request)
        for stored in page.objects:
            self._delete_listed(target.resource, stored, options)
        return responses.Response(200, form.page(page.objects, page.meta), form.content_type)

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


def _object_response(
    stored: stored_objects.Stored,
    form: response_encoding.Rendering,
    status: int,
    warnings: tuple[str, ...] = (),
) -> responses.Response:
    return responses.Response(status, form.one(stored), form.content_type, warnings=warnings)


def _document_response(
    document: Document, form: response_encoding.Rendering, status: int, warnings: Iterable[str] = ()
) -> responses.Response:
    return responses.Response(
        status, form.encoded(document), form.content_type, warnings=tuple(warnings)
    )


def _warnings(
    validation: request_objects.Validation,
    resource: resources.ResourceType,
    stored: stored_objects.Stored,
) -> tuple[str, ...]:
    return (*validation.warnings, *resource_strategies.of(resource).warnings(stored))
