"""From a request to an answer: every verb but watch, which never ends and is served by `streaming`."""

from collections.abc import Callable, Iterable
from typing import Any

from harness.apiserver import (
    answers,
    applying,
    authenticating,
    bodies,
    deleting,
    listing,
    media,
    options,
    patches,
    pod_actions,
    preconditions,
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
_STRATEGIC = "application/strategic-merge-patch+json"
_PATCHES: dict[str, Callable[[resources.ResourceType, Document, Any], Document]] = {
    "application/json-patch+json": lambda _, document, patch: patches.json_patch(document, patch),
    "application/merge-patch+json": lambda _, document, patch: patches.merge_patch(document, patch),
    _STRATEGIC: patches.strategic_patch,
}
_AS_OBJECTS = frozenset({"", "approval", "ephemeralcontainers", "finalize", "resize", "status"})
"""Subresources that are read and written as their object is."""
_LONG = 100
"""Objects; a list of more of them may take longer than others should wait."""
_APPLY_TYPES = ("application/apply-patch+yaml",)
_PATCH_TYPES = (*_PATCHES, *_APPLY_TYPES)


Step = Callable[[requesting.Request, requesting.Target], answers.Answer]


class Handler:
    """Answers requests from a store."""

    def __init__(
        self, store: stores.Store, *, now: Callable[[], str], in_pieces: bool = False
    ) -> None:
        """`in_pieces`: answers with long lists may come bit by bit."""
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
        request: requesting.Request,
        user: authenticating.User = authenticating.ADMINISTRATOR,
    ) -> answers.Answer:
        """The answer to any request but a watch; StatusError when it fails."""
        target = requesting.parse_target(request.path)
        if target is None:
            return sites.answer(request)
        verb = verbs.of(request.method, target)
        request = media.in_json(request, target)
        if not target.resource.is_stored:
            return self._answer_without_objects(request, target, verb, user)
        return self._step(verb, target)(request, target)

    def _step(self, verb: str, target: requesting.Target) -> Step:
        if not target.subresource:
            return self._steps[verb]
        if target.subresource == "binding":
            return self._bind
        if target.subresource == "eviction":
            return self._evict
        if target.subresource == "scale":
            return self._scale
        if target.subresource not in _AS_OBJECTS:
            raise statuses.not_served(f"{target.resource.plural}/{target.subresource}")
        return self._steps[verb]

    def _answer_without_objects(
        self,
        request: requesting.Request,
        target: requesting.Target,
        verb: str,
        user: authenticating.User,
    ) -> answers.Answer:
        """Reviews are answered at once; what is listed of such resources is empty."""
        resource = target.resource
        if verb == "create" and resource.kind.endswith("Review"):
            form = self._rendering(request, target)
            document = bodies.read(media.json_body(request), resource, options.validation(request))
            reviewed = reviews.answer(resource, document, user)
            return _told(reviewed, form, 201)
        if verb == "list":
            form = self._rendering(request, target, is_list=True)
            return answers.Answer(200, form.page([], {}), form.content_type)
        if resource.kind == "Binding":
            return self._bind(request, target)
        raise statuses.not_found(resource, target.name)

    # -------------------------------------------------------------- reading

    def _get(self, request: requesting.Request, target: requesting.Target) -> answers.Answer:
        form = self._rendering(request, target)
        listing.require_version(self._store, request)
        stored = self._store.get(target.resource, target.namespace, target.name)
        return _shown(stored, form, 200)

    def _list(self, request: requesting.Request, target: requesting.Target) -> answers.Answer:
        form = self._rendering(request, target, is_list=True)
        page = listing.page(self._store, request.selection(target), request)
        if self._in_pieces and form.has_pieces and len(page.found) > _LONG:
            pieces = form.pieces(page.found, page.meta)
            return answers.Answer(200, b"", form.content_type, pieces=pieces)
        return answers.Answer(200, form.page(page.found, page.meta), form.content_type)

    def _rendering(
        self, request: requesting.Request, target: requesting.Target, *, is_list: bool = False
    ) -> rendering.Rendering:
        return rendering.Rendering(request, target.resource, self._now, is_list=is_list)

    # -------------------------------------------------------------- writing

    def _create(self, request: requesting.Request, target: requesting.Target) -> answers.Answer:
        validation = options.validation(request)
        form = self._rendering(request, target)
        document = bodies.read(media.json_body(request), target.resource, validation)
        return self._add(request, target, document, form, validation)

    def _add(
        self,
        request: requesting.Request,
        target: requesting.Target,
        document: Document,
        form: rendering.Rendering,
        validation: bodies.Validation,
    ) -> answers.Answer:
        stored = self._store.create(
            target.resource,
            target.namespace,
            document,
            manager=options.manager(request),
            dry_run=request.dry_run,
        )
        warnings = _warnings(validation, target.resource, stored)
        return _shown(stored, form, 201, warnings)

    def _update(self, request: requesting.Request, target: requesting.Target) -> answers.Answer:
        validation = options.validation(request)
        form = self._rendering(request, target)
        document = bodies.read(media.json_body(request), target.resource, validation)
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
            manager=options.manager(request),
            dry_run=request.dry_run,
        )
        return _shown(stored, form, 200, _warnings(validation, target.resource, stored))

    def _is_created_by_update(self, target: requesting.Target) -> bool:
        if target.subresource or not target.resource.creates_on_update:
            return False
        return not self._store.has(target.resource, target.namespace, target.name)

    def _patch(self, request: requesting.Request, target: requesting.Target) -> answers.Answer:
        content_type = media.content_type(request)
        if content_type not in _PATCH_TYPES:
            raise statuses.unsupported_patch_type()
        if content_type in _APPLY_TYPES:
            options.require_manager(request)
        validation = options.validation(request)
        form = self._rendering(request, target)
        if content_type in _APPLY_TYPES:
            return self._apply(request, target, form)
        is_text = content_type != _STRATEGIC
        patch, problems = bodies.decode_patch(request.body, validation, is_text=is_text)
        apply = _PATCHES[content_type]

        def change(document: Document) -> Document:
            changed = apply(target.resource, document, patch)
            return bodies.patched(changed, target.resource, validation, problems, is_text=is_text)

        stored = self._store.patch(
            target.resource,
            target.namespace,
            target.name,
            change,
            subresource=target.subresource,
            manager=options.manager(request),
            dry_run=request.dry_run,
        )
        return _shown(stored, form, 200, _warnings(validation, target.resource, stored))

    def _apply(
        self, request: requesting.Request, target: requesting.Target, form: rendering.Rendering
    ) -> answers.Answer:
        configuration = applying.Configuration(
            document=applying.read(target.resource, request.body),
            manager=options.manager(request),
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
        return _shown(stored, form, 201 if is_new else 200)

    def _scale(self, request: requesting.Request, target: requesting.Target) -> answers.Answer:
        form = self._rendering(request, target)
        return _told(scaling.answer(self._store, request, target), form, 200)

    def _bind(self, request: requesting.Request, target: requesting.Target) -> answers.Answer:
        form = self._rendering(request, target)
        validation = pod_actions.bind(self._store, request, target)
        return _told(statuses.success(code=201), form, 201, validation.warnings)

    def _evict(self, request: requesting.Request, target: requesting.Target) -> answers.Answer:
        form = self._rendering(request, target)
        validation = pod_actions.evict(self._store, request, target)
        return _told(statuses.success(code=201), form, 201, validation.warnings)

    # -------------------------------------------------------------- deleting

    def _delete(self, request: requesting.Request, target: requesting.Target) -> answers.Answer:
        how = options.deletion(request)
        form = self._rendering(request, target)
        resource = target.resource
        last, gone = self._store.delete(resource, target.namespace, target.name, how)
        if not gone or resource.deletion_returns_object:
            return _shown(last, form, 200)
        details = statuses.about(resource, last.name) | {"uid": last.uid}
        return _told(statuses.success(details), form, 200)

    def _delete_collection(
        self, request: requesting.Request, target: requesting.Target
    ) -> answers.Answer:
        """What is listed is deleted, one object after the other; the answer is the list, as it was before."""
        how = options.deletion(request)
        form = self._rendering(request, target, is_list=True)
        page = listing.page(self._store, request.selection(target), request)
        for stored in page.found:
            self._delete_listed(target.resource, stored, how)
        return answers.Answer(200, form.page(page.found, page.meta), form.content_type)

    def _delete_listed(
        self, resource: resources.ResourceType, stored: storing.Stored, how: deleting.Options
    ) -> None:
        try:
            self._store.delete(resource, stored.namespace, stored.name, how)
        except statuses.StatusError as error:
            if error.code != 404:  # a list of the past has objects that are gone
                raise


def _shown(
    stored: storing.Stored, form: rendering.Rendering, status: int, warnings: tuple[str, ...] = ()
) -> answers.Answer:
    return answers.Answer(status, form.one(stored), form.content_type, warnings=warnings)


def _told(
    document: Document, form: rendering.Rendering, status: int, warnings: Iterable[str] = ()
) -> answers.Answer:
    return answers.Answer(
        status, form.encoded(document), form.content_type, warnings=tuple(warnings)
    )


def _warnings(
    validation: bodies.Validation, resource: resources.ResourceType, stored: storing.Stored
) -> tuple[str, ...]:
    return (*validation.warnings, *validating.warnings(resource, stored))
