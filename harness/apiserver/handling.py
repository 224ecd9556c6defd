"""From a request to an answer: every verb but watch, which never ends and is served by `streaming`."""

import base64
import binascii
import dataclasses
from collections.abc import Callable
from typing import Any

import msgspec

from harness.apiserver import (
    applying,
    bodies,
    discovery,
    options,
    patches,
    requesting,
    resources,
    statuses,
    storing,
    tables,
    validating,
    watching,
)
from harness.apiserver import store as stores

Document = dict[str, Any]
JSON = "application/json"
_TABLE_MAX = 10_000
_PATCHES: dict[str, Callable[[resources.ResourceType, Document, Any], Document]] = {
    "application/json-patch+json": lambda _, document, patch: patches.json_patch(document, patch),
    "application/merge-patch+json": lambda _, document, patch: patches.merge_patch(document, patch),
    "application/strategic-merge-patch+json": patches.strategic_patch,
}
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

    def answer(self, request: requesting.Request) -> Answer:
        """The answer to any request but a watch; StatusError when it fails."""
        target = requesting.parse_target(request.path)
        if target is None:
            return self._answer_path(request)
        return self._verb(request, target)(request, target)

    def _verb(
        self, request: requesting.Request, target: requesting.Target
    ) -> Callable[[requesting.Request, requesting.Target], Answer]:
        method = "GET" if request.method == "HEAD" else request.method
        if target.subresource == "binding":
            key = ("binding", method)
        else:
            key = ("object" if target.name else "collection", method)
        verbs: dict[tuple[str, str], Callable[[requesting.Request, requesting.Target], Answer]] = {
            ("collection", "GET"): self._list,
            ("collection", "POST"): self._create,
            ("collection", "DELETE"): self._delete_collection,
            ("object", "GET"): self._get,
            ("object", "PUT"): self._update,
            ("object", "PATCH"): self._patch,
            ("object", "DELETE"): self._delete,
            ("binding", "POST"): self._bind,
        }
        refused = target.subresource and method == "DELETE"
        if key not in verbs or refused or not target.resource.is_stored:
            raise statuses.method_not_allowed()
        return verbs[key]

    def _answer_path(self, request: requesting.Request) -> Answer:
        if request.path.strip("/").split("/")[0] in ("healthz", "livez", "readyz"):
            return Answer(200, b"ok", "text/plain; charset=utf-8")
        document = discovery.answer(request.path)
        if document is None:
            raise statuses.unknown_path()
        return Answer(200, storing.encode(document))

    # -------------------------------------------------------------- reading

    def _get(self, request: requesting.Request, target: requesting.Target) -> Answer:
        stored = self._store.get(target.resource, target.namespace, target.name)
        if request.wants_table():
            meta = {"resourceVersion": str(stored.resource_version)}
            return self._table(target.resource, [stored], meta)
        return Answer(200, stored.data)

    def _list(self, request: requesting.Request, target: requesting.Target) -> Answer:
        found = self._store.select(request.selection(target))
        found, meta = self._page(request, found)
        if request.wants_table():
            return self._table(target.resource, found, meta)
        resource = target.resource
        head = storing.encode(
            {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": meta}
        )
        items = b",".join([stored.data for stored in found])
        return Answer(200, head[:-1] + b',"items":[' + items + b"]}")

    def _page(
        self, request: requesting.Request, found: list[storing.Stored]
    ) -> tuple[list[storing.Stored], Document]:
        version = self._store.resource_version
        if token := request.query.get("continue"):
            version, after = _read_continue(token)
            found = [item for item in found if (item.namespace, item.name) > after]
        meta: Document = {"resourceVersion": str(version)}
        limit = request.integer("limit")
        if limit and len(found) > limit:
            last = found[limit - 1]
            meta["continue"] = _write_continue(version, (last.namespace, last.name))
            meta["remainingItemCount"] = len(found) - limit
            found = found[:limit]
        return found, meta

    def _table(
        self, resource: resources.ResourceType, found: list[storing.Stored], meta: Document
    ) -> Answer:
        documents = [stored.document() for stored in found[:_TABLE_MAX]]
        table = tables.table(resource, documents, meta=meta, now=self._now())
        return Answer(200, storing.encode(table))

    # -------------------------------------------------------------- writing

    def _create(self, request: requesting.Request, target: requesting.Target) -> Answer:
        validation = options.validation(request)
        document = _body(request, target.resource, validation)
        stored = self._store.create(
            target.resource, target.namespace, document, dry_run=request.dry_run
        )
        return Answer(201, stored.data, warnings=_warnings(validation, target.resource, stored))

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
        content_type = request.headers.get("content-type", "").partition(";")[0].strip()
        if content_type not in _PATCH_TYPES:
            raise statuses.unsupported_media_type(content_type, _PATCH_TYPES)
        validation = options.validation(request)
        patch, problems = bodies.decode_patch(request.body, validation)
        if content_type.startswith("application/apply-patch"):
            return self._apply(request, target, patch)
        apply = _PATCHES[content_type]

        def change(document: Document) -> Document:
            changed = _keeping_managed_fields(document, apply(target.resource, document, patch))
            return bodies.patched(changed, target.resource, validation, problems)

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
        found = self._store.select(request.selection(target))
        for stored in found:
            self._store.delete(
                target.resource,
                stored.namespace,
                stored.name,
                grace_period_s=wanted.get("gracePeriodSeconds"),
            )
        resource = target.resource
        head = storing.encode(
            {
                "kind": f"{resource.kind}List",
                "apiVersion": resource.api_version,
                "metadata": {"resourceVersion": str(self._store.resource_version)},
            }
        )
        return Answer(200, head[:-1] + b',"items":[' + b",".join(s.data for s in found) + b"]}")


# ------------------------------------------------------------------ bodies


def event_object(
    request: requesting.Request, resource: resources.ResourceType, stored: storing.Stored, now: str
) -> bytes:
    """The object of a watch event in the form that the watcher asked for."""
    if not request.wants_table():
        return stored.data
    meta = {"resourceVersion": str(stored.resource_version)}
    return storing.encode(tables.table(resource, [stored.document()], meta=meta, now=now))


def selection_of(request: requesting.Request) -> watching.Selection | None:
    """What a watch request is about; None when it is no watch."""
    target = requesting.parse_target(request.path)
    if target is None or request.method != "GET" or target.subresource:
        return None
    return request.selection(target) if request.flag("watch") else None


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
    content_type = request.headers.get("content-type", JSON).partition(";")[0].strip()
    if content_type not in (JSON, ""):
        raise statuses.unsupported_media_type(content_type, (JSON,))
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


def _write_continue(version: int, after: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(storing.encode([version, *after])).decode()


def _read_continue(token: str) -> tuple[int, tuple[str, str]]:
    try:
        version, namespace, name = storing.decode(base64.urlsafe_b64decode(token))
        return int(version), (namespace, name)
    except (ValueError, TypeError, binascii.Error, msgspec.DecodeError) as error:
        raise statuses.bad_request(
            "continue key is not valid: it was not made by this server"
        ) from error
