"""From a request to an answer: every verb but watch, which never ends and is served by `streaming`."""

import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec

from harness.apiserver import (
    applying,
    authenticating,
    bodies,
    listing,
    media,
    negotiating,
    options,
    patches,
    rendering,
    requesting,
    resources,
    reviews,
    scaling,
    sites,
    statuses,
    storing,
    validating,
    verbs,
)
from harness.apiserver import store as stores

Document = dict[str, Any]
JSON = negotiating.JSON
_STRATEGIC = "application/strategic-merge-patch+json"
_PATCHES: dict[str, Callable[[resources.ResourceType, Document, Any], Document]] = {
    "application/json-patch+json": lambda _, document, patch: patches.json_patch(document, patch),
    "application/merge-patch+json": lambda _, document, patch: patches.merge_patch(document, patch),
    _STRATEGIC: patches.strategic_patch,
}
_AS_OBJECTS = frozenset({"", "approval", "ephemeralcontainers", "finalize", "resize", "status"})
"""Subresources that are read and written as their object is."""
_PATCH_TYPES = (*_PATCHES, "application/apply-patch+yaml", "application/apply-patch+json")


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes
    content_type: str = JSON
    retry_after_s: int = 0
    """When to try again; 0 for what need not be said."""
    warnings: tuple[str, ...] = ()
    """What the writer should know although the request succeeded."""


def failure(error: statuses.StatusError) -> Answer:
    """The answer of a request that failed."""
    retry_after_s = (error.details or {}).get("retryAfterSeconds", 0)
    return Answer(error.code, storing.encode(error.to_status()), retry_after_s=retry_after_s)


class Handler:
    """Answers requests from a store."""

    def __init__(self, store: stores.Store, *, now: Callable[[], str]) -> None:
        self._store = store
        self._now = now

    def answer(
        self,
        request: requesting.Request,
        user: authenticating.User = authenticating.ADMINISTRATOR,
    ) -> Answer:
        """The answer to any request but a watch; StatusError when it fails."""
        target = requesting.parse_target(request.path)
        if target is None:
            return self._answer_path(request)
        verb = verbs.of(request.method, target)
        request = media.in_json(request)
        if not target.resource.is_stored:
            return self._answer_without_objects(request, target, verb, user)
        return self._step(verb, target)(request, target)

    def _step(
        self, verb: str, target: requesting.Target
    ) -> Callable[[requesting.Request, requesting.Target], Answer]:
        if target.subresource == "binding":
            return self._bind
        if target.subresource == "scale":
            return self._scale
        if target.subresource not in _AS_OBJECTS:
            raise statuses.not_served(f"{target.resource.plural}/{target.subresource}")
        return {
            "list": self._list,
            "create": self._create,
            "deletecollection": self._delete_collection,
            "get": self._get,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
        }[verb]

    def _answer_path(self, request: requesting.Request) -> Answer:
        site = sites.answer(request)
        return Answer(site.status, site.body, site.content_type)

    def _answer_without_objects(
        self,
        request: requesting.Request,
        target: requesting.Target,
        verb: str,
        user: authenticating.User,
    ) -> Answer:
        """Reviews are answered at once; what is listed of such resources is empty."""
        resource = target.resource
        if verb == "create" and resource.kind.endswith("Review"):
            form = self._rendering(request, target)
            document = _body(request, resource, options.validation(request))
            reviewed = reviews.answer(resource, document, user)
            return Answer(201, form.encoded(reviewed), form.content_type)
        if verb == "list":
            form = self._rendering(request, target, is_list=True)
            return Answer(200, form.page([], {}), form.content_type)
        if resource.kind == "Binding":
            return self._bind_by_name(request, target)
        raise statuses.not_found(resource, target.name)

    # -------------------------------------------------------------- reading

    def _get(self, request: requesting.Request, target: requesting.Target) -> Answer:
        form = self._rendering(request, target)
        listing.require_version(self._store, request)
        stored = self._store.get(target.resource, target.namespace, target.name)
        return Answer(200, form.one(stored), form.content_type)

    def _list(self, request: requesting.Request, target: requesting.Target) -> Answer:
        form = self._rendering(request, target, is_list=True)
        page = listing.page(self._store, request.selection(target), request)
        return Answer(200, form.page(page.found, page.meta), form.content_type)

    def _rendering(
        self, request: requesting.Request, target: requesting.Target, *, is_list: bool = False
    ) -> rendering.Rendering:
        return rendering.Rendering(request, target.resource, self._now, is_list=is_list)

    # -------------------------------------------------------------- writing

    def _create(self, request: requesting.Request, target: requesting.Target) -> Answer:
        validation = options.validation(request)
        form = self._rendering(request, target)
        document = _body(request, target.resource, validation)
        stored = self._store.create(
            target.resource, target.namespace, document, dry_run=request.dry_run
        )
        warnings = _warnings(validation, target.resource, stored)
        return Answer(201, form.one(stored), form.content_type, warnings=warnings)

    def _update(self, request: requesting.Request, target: requesting.Target) -> Answer:
        validation = options.validation(request)
        document = _body(request, target.resource, validation)
        if not document["metadata"].get("name"):
            why = "was undeterminable: name must be provided"
            raise statuses.bad_request(f"the name of the object ({target.name} based on URL) {why}")
        stored = self._store.update(
            target.resource,
            target.namespace,
            target.name,
            document,
            subresource=_writing(target.subresource),
            dry_run=request.dry_run,
        )
        return Answer(200, stored.data, warnings=_warnings(validation, target.resource, stored))

    def _patch(self, request: requesting.Request, target: requesting.Target) -> Answer:
        content_type = media.content_type(request)
        if content_type not in _PATCH_TYPES:
            raise statuses.unsupported_patch_type()
        validation = options.validation(request)
        patch, problems = bodies.decode_patch(request.body, validation)
        if content_type.startswith("application/apply-patch"):
            return self._apply(request, target, patch)
        apply = _PATCHES[content_type]

        def change(document: Document) -> Document:
            changed = _keeping_managed_fields(document, apply(target.resource, document, patch))
            is_text = content_type != _STRATEGIC
            return bodies.patched(changed, target.resource, validation, problems, is_text=is_text)

        stored = self._change(request, target, change)
        return Answer(200, stored.data, warnings=_warnings(validation, target.resource, stored))

    def _apply(
        self, request: requesting.Request, target: requesting.Target, applied: Any
    ) -> Answer:
        if not isinstance(applied, dict):
            raise statuses.bad_request("expected an object to apply")
        manager = request.query.get("fieldManager", "")
        if not manager:
            cause = statuses.required("fieldManager", "is required for apply patch")
            raise statuses.invalid_options("PatchOptions", [cause])

        def change(document: Document) -> Document:
            return applying.apply(
                target.resource,
                document,
                applied,
                manager=manager,
                force=request.flag("force"),
                now=self._now(),
                subresource=target.subresource,
            )

        try:
            self._store.get(target.resource, target.namespace, target.name)
        except statuses.StatusError:
            if target.subresource:
                raise
            document = change({"metadata": {"name": target.name}})
            created = self._store.create(
                target.resource, target.namespace, document, dry_run=request.dry_run
            )
            return Answer(201, created.data)
        return Answer(200, self._change(request, target, change).data)

    def _change(
        self,
        request: requesting.Request,
        target: requesting.Target,
        change: Callable[[Document], Document],
    ) -> storing.Stored:
        return self._store.patch(
            target.resource,
            target.namespace,
            target.name,
            change,
            subresource=_writing(target.subresource),
            dry_run=request.dry_run,
        )

    def _scale(self, request: requesting.Request, target: requesting.Target) -> Answer:
        return Answer(200, storing.encode(scaling.answer(self._store, request, target)))

    def _bind_by_name(self, request: requesting.Request, target: requesting.Target) -> Answer:
        """A binding says itself which pod it is about."""
        name = (_decode_object(request.body).get("metadata") or {}).get("name", "")
        return self._bind(request, dataclasses.replace(target, name=name))

    def _bind(self, request: requesting.Request, target: requesting.Target) -> Answer:
        self._store.bind(target.namespace, target.name, _decode_object(request.body))
        return Answer(201, storing.encode(statuses.success(code=201)))

    # -------------------------------------------------------------- deleting

    def _delete(self, request: requesting.Request, target: requesting.Target) -> Answer:
        wanted = _delete_options(request)
        resource = target.resource
        last, gone = self._store.delete(
            resource,
            target.namespace,
            target.name,
            grace_period_s=wanted.get("gracePeriodSeconds"),
            preconditions=wanted.get("preconditions"),
            orphan=wanted.get("propagationPolicy") == "Orphan",
        )
        if not gone or resource.deletion_returns_object:
            return Answer(200, last.data)
        details = {
            "name": last.name,
            "group": resource.group,
            "kind": resource.plural,
            "uid": last.uid,
        }
        details = {key: value for key, value in details.items() if value}
        return Answer(200, storing.encode(statuses.success(details)))

    def _delete_collection(self, request: requesting.Request, target: requesting.Target) -> Answer:
        wanted = _delete_options(request)
        form = self._rendering(request, target, is_list=True)
        found = self._store.select(request.selection(target))
        for stored in found:
            self._store.delete(
                target.resource,
                stored.namespace,
                stored.name,
                grace_period_s=wanted.get("gracePeriodSeconds"),
            )
        meta = {"resourceVersion": str(self._store.resource_version)}
        return Answer(200, form.page(found, meta), form.content_type)


# ------------------------------------------------------------------ bodies


def watched(request: requesting.Request) -> requesting.Target | None:
    """What a watch request is about; None when it is no watch."""
    target = requesting.parse_target(request.path)
    if target is None or request.method != "GET" or "watch" not in target.resource.verbs:
        return None
    if target.is_watch:
        return target
    return target if not target.name and request.flag("watch") else None


def _warnings(
    validation: bodies.Validation, resource: resources.ResourceType, stored: storing.Stored
) -> tuple[str, ...]:
    return (*validation.warnings, *validating.warnings(resource, stored))


def _writing(subresource: str) -> str:
    return "" if subresource == "finalize" else subresource


def _keeping_managed_fields(document: Document, changed: Document) -> Document:
    """A patch may not touch what the strategy of an update would not look at again."""
    managed = document["metadata"].get("managedFields")
    if managed is not None and isinstance(changed.get("metadata"), dict):
        changed["metadata"].setdefault("managedFields", managed)
    return changed


def _body(
    request: requesting.Request,
    resource: resources.ResourceType,
    validation: bodies.Validation,
) -> Document:
    if media.content_type(request) not in (JSON, ""):
        raise statuses.unsupported_media_type(negotiating.MEDIA_TYPES)
    return bodies.read(request.body, resource, validation)


def _decode_object(body: bytes) -> Document:
    document = _decode(body)
    if not isinstance(document, dict):
        raise statuses.bad_request("the body of the request was not a JSON object")
    return document


def _decode(body: bytes) -> Any:
    try:
        return storing.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise statuses.bad_request(f"couldn't decode the body as JSON: {error}") from error


def _delete_options(request: requesting.Request) -> Document:
    options = _decode_object(request.body) if request.body.strip() else {}
    grace_s = request.integer("gracePeriodSeconds")
    if grace_s is not None:
        options.setdefault("gracePeriodSeconds", grace_s)
    if policy := request.query.get("propagationPolicy"):
        options.setdefault("propagationPolicy", policy)
    known = ("Foreground", "Background", "Orphan")
    if options.get("propagationPolicy") not in (None, *known):
        wrong = str(options["propagationPolicy"])
        cause = statuses.unsupported("propagationPolicy", wrong, (*known, "nil"))
        raise statuses.invalid_options("DeleteOptions", [cause])
    return options
