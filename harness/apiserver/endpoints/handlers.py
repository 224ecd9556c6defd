"""Requests for resources: what is wrong with one, whatever the store has, is found first.

`server.watch_streams` serves watches.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from harness.apiserver import patches
from harness.apiserver.endpoints import authentication, request_info, request_options, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.managedfields import server_side_apply
from harness.apiserver.registry import preconditions, resource_strategies
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects

_APPLY = "application/apply-patch+yaml"
_LONG_LIST = 100
_PATCHES: dict[str, Callable[[resources.ResourceType, Document, Any], Document]] = {
    "application/json-patch+json": patches.json_patch,
    "application/merge-patch+json": patches.merge_patch,
    "application/strategic-merge-patch+json": patches.strategic_patch,
}


class Handler:
    """Answers requests for resources from a store."""

    def __init__(
        self,
        store: stores.Store,
        *,
        now: Callable[[], str],
        overlooks_finalizers: bool = False,
        version: int | None = None,
    ) -> None:
        """`overlooks_finalizers`: remove what is deleted at once, as `DeleteOptions` says.

        `version`: the one at which objects are read, by default the newest one.
        """
        self._store, self._now, self._overlooks = store, now, overlooks_finalizers
        self._version = version
        self._steps: dict[str, Callable[[_Exchange], responses.Response]] = {
            "get": self._get,
            "list": lambda exchange: exchange.respond_list(*self._listed(exchange)),
            "create": self._create,
            "update": self._update,
            "patch": self._patch,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
        }

    def at(self, version: int) -> "Handler":
        """Return a handler of reads that shows the objects as they were at a version."""
        return Handler(self._store, now=self._now, version=version)

    def answer(
        self, request: request_info.Request, target: request_info.Target | None = None
    ) -> responses.Response:
        """Return the response to a request, which is no watch.

        `target`: the resource, if not what the path names. Raises StatusError if it fails.
        """
        target = target or request.target
        if target is None:
            raise status_errors.unknown_path()
        verb = request_info.require_verb(request, target)
        view = responses.View(request, target.resource, self._now)
        return self._steps[verb](_Exchange(request, target, view))

    # -------------------------------------------------------------- reading

    def _get(self, exchange: "_Exchange") -> responses.Response:
        self._require_reached(exchange.request.version)
        if self._version is not None:
            return exchange.respond(self._store.get_at(*exchange.place, self._version))
        return exchange.respond(self._store.get(*exchange.place))

    def _listed(self, exchange: "_Exchange") -> tuple[list[stored_objects.Stored], int]:
        """Return the objects of a list, which is always whole, and their version.

        `limit` is ignored, which clients have to expect. Raises 410 if the version that the list
        asks for is too old, 504 if it is too new.
        """
        request, store = exchange.request, self._store
        selection, version = request.selection(exchange.target), request.version
        self._require_reached(version)
        if request.query.get("resourceVersionMatch") == "Exact" or self._version is not None:
            version = version if self._version is None else self._version
            return store.select_at(selection, version), version
        return store.select(selection), store.resource_version

    def _require_reached(self, version: int) -> None:
        """Raise 504 if a resource version is ahead of the store."""
        if version > self._store.resource_version:
            raise status_errors.too_large_version(version, self._store.resource_version)

    # -------------------------------------------------------------- writing

    def _create(self, exchange: "_Exchange") -> responses.Response:
        write, validation = request_options.of_write(exchange.request)
        document = request_options.document(exchange.request, exchange.target, validation)
        resource, namespace = exchange.target.resource, exchange.target.namespace
        match exchange.target.body_type.kind:
            case "Binding":
                name = exchange.require_same_name(document)
                self._store.bind(namespace, name, document, dry_run=write["dry_run"])
            case "Eviction":
                name = exchange.require_same_name(document)
                given = request_options.deletion_options(document.get("deleteOptions") or {})
                given = dataclasses.replace(given, dry_run=given.dry_run or write["dry_run"])
                self._store.evict(namespace, name, given)
            case _ if resource.is_stored:
                stored = self._store.create(resource, namespace, document, **write)
                return exchange.respond_written(stored, 201, validation)
            case _:
                return responses.of_document(authentication.review(resource, document), 201)
        warnings = tuple(validation.warnings)
        return responses.of_document(status_errors.success(code=201), 201, warnings=warnings)

    def _update(self, exchange: "_Exchange") -> responses.Response:
        target = exchange.target
        write, validation = request_options.of_write(exchange.request, target.subresource)
        document = request_options.document(exchange.request, target, validation)
        preconditions.require_name(document, target.name)
        is_creating = target.resource.creates_on_update and not target.subresource
        if is_creating and not self._store.has(*exchange.place):
            preconditions.require_none(target.resource, target.name, document)
            made = self._store.create(target.resource, target.namespace, document, **write)
            return exchange.respond_written(made, 201, validation)
        stored = self._store.update(*exchange.place, document, **write)
        return exchange.respond_written(stored, 200, validation)

    def _patch(self, exchange: "_Exchange") -> responses.Response:
        request, target = exchange.request, exchange.target
        if request.content_type == _APPLY and target.is_object:
            return self._apply(exchange)
        if request.content_type not in _PATCHES:
            raise status_errors.unsupported_media_type((*_PATCHES, _APPLY))
        write, validation = request_options.of_write(request, target.subresource)
        resource, apply = target.body_type, _PATCHES[request.content_type]
        patch = request_options.parse(request.body)

        def change(document: Document) -> Document:
            changed = apply(resource, document, patch)
            return request_options.patched(changed, resource, validation)

        stored = self._store.patch(*exchange.place, change, **write)
        return exchange.respond_written(stored, 200, validation)

    def _apply(self, exchange: "_Exchange") -> responses.Response:
        request, target = exchange.request, exchange.target
        write, _ = request_options.of_write(request, target.subresource, is_apply=True)
        stored, is_new = self._store.apply(
            *exchange.place,
            server_side_apply.read(target.resource, request_options.parse(request.body)),
            force=request.flag("force"),
            **write,
        )
        return exchange.respond(stored, 201 if is_new else 200)

    # -------------------------------------------------------------- deleting

    def _delete(self, exchange: "_Exchange") -> responses.Response:
        resource, options = exchange.target.resource, request_options.deletion(exchange.request)
        options = dataclasses.replace(options, overlooks_finalizers=self._overlooks)
        last, is_gone = self._store.delete(*exchange.place, options)
        if not is_gone or resource.deletion_returns_object:
            return exchange.respond(last)
        details = status_errors.about(resource, last.name) | {"uid": last.uid}
        return responses.of_document(status_errors.success(details))

    def _delete_collection(self, exchange: "_Exchange") -> responses.Response:
        """Delete the listed objects one by one; return the list as it was before."""
        options = request_options.deletion(exchange.request)
        objects, version = self._listed(exchange)
        for stored in objects:
            try:
                place = exchange.target.resource, stored.namespace, stored.name
                self._store.delete(*place, options)
            except status_errors.StatusError as error:
                if error.code != 404:  # a list at an older version may name deleted objects
                    raise
        return exchange.respond_list(objects, version)


@dataclasses.dataclass(frozen=True, slots=True)
class _Exchange:
    """A request, what it is for, and the form of its response."""

    request: request_info.Request
    target: request_info.Target
    view: responses.View

    @property
    def place(self) -> tuple[resources.ResourceType, str, str]:
        """The resource, the namespace and the name of the object."""
        return self.target.resource, self.target.namespace, self.target.name

    def respond(self, stored: stored_objects.Stored, status: int = 200) -> responses.Response:
        return responses.Response(status, self.view.one(stored))

    def respond_written(
        self, stored: stored_objects.Stored, status: int, validation: request_options.Validation
    ) -> responses.Response:
        """Return the response to a write, with warnings about the object."""
        strategy = resource_strategies.of(self.target.resource)
        warnings = (*validation.warnings, *strategy.warnings(stored))
        return responses.Response(status, self.view.one(stored), warnings=warnings)

    def respond_list(
        self, objects: list[stored_objects.Stored], version: int
    ) -> responses.Response:
        meta = {"resourceVersion": str(version)}
        answer = responses.Response(200, b"", pieces=self.view.many(objects, meta))
        return answer if len(objects) > _LONG_LIST else answer.whole()

    def require_same_name(self, document: Document) -> str:
        """Return the name of a binding or eviction, by default that of the path.

        Raises 400 if they differ.
        """
        name: str = document.setdefault("metadata", {}).setdefault("name", self.target.name)
        if self.target.name and name != self.target.name:
            kind = self.target.body_type.kind
            raise status_errors.bad_request(f"name in URL does not match name in {kind} object")
        return name
