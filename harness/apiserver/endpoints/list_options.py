"""Options of reads in the query: of a list (ListOptions), of a watch, of a GET (GetOptions).

A list is always whole: `limit` is ignored, which clients have to expect.
"""

import dataclasses
import re

import msgspec

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import stored_objects, watch_cache

_EXACT, _NOT_OLDER = "Exact", "NotOlderThan"
_MATCH = "resourceVersionMatch"


class ListOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a list, and the selection of its objects."""

    selection: watch_cache.Selection
    version: int = 0
    """The `resourceVersion`, 0 for any."""
    is_exact: bool = False
    """True for the objects at exactly this version, false for those at this version or later."""


def of(request: request_info.Request, target: request_info.Target) -> ListOptions:
    """Return the options of a list. Raises 400 or 422 if they are malformed or contradictory."""
    selection = request.selection(target)
    if not request.query:
        return ListOptions(selection=selection)
    limit, _ = _integers(request)
    _require_list_options(request)
    text = request.query.get("resourceVersion", "")
    version = _list_version(text)
    match = request.query.get(_MATCH, "")
    return ListOptions(
        selection=selection,
        version=version,
        is_exact=match == _EXACT or (version > 0 and limit > 0 and not match),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """The objects of a list."""

    objects: list[stored_objects.Stored]
    meta: Document
    """The `metadata` of the list."""


def page(store: stores.Store, options: ListOptions) -> Page:
    """Return what a list request asks for.

    Raises 410 if its version is too old, 504 if it is too new.
    """
    require_reached(store, options.version)
    if not options.is_exact:
        return Page(store.select(options.selection), _meta(store.resource_version))
    try:
        objects = store.select_at(options.selection, options.version)
    except status_errors.StatusError as error:
        why = "The resourceVersion for the provided list is too old."
        raise status_errors.StatusError(410, "Expired", why) from error
    return Page(objects, _meta(options.version))


def _meta(version: int) -> Document:
    return {"resourceVersion": str(version)}


def require_reached(store: stores.Store, version: int) -> None:
    """Raise 504 if a resource version is ahead of the store."""
    if version <= store.resource_version:
        return
    message = f"Too large resource version: {version}, current: {store.resource_version}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    details = {"causes": causes, "retryAfterSeconds": 1}
    raise status_errors.StatusError(504, "Timeout", f"Timeout: {message}", details)


def _list_version(text: str) -> int:
    if text and not _is_version(text):
        raise status_errors.bad_request(f"invalid resource version: {_bad_version(text)}")
    return int(text or 0)


def _is_version(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,19}", text) is not None


def _bad_version(text: str) -> str:
    return f"resourceVersion: expected a number, got {text!r}"


def watch_timeout_s(request: request_info.Request) -> int:
    """Return the `timeoutSeconds` of a watch, 0 for no end.

    Raises 400 if it, or `limit`, is not an integer.
    """
    _, timeout_s = _integers(request)
    return timeout_s


def _integers(request: request_info.Request) -> tuple[int, int]:
    """Return `limit` and `timeoutSeconds`, 0 for none. Raises 400 if one is not an integer."""
    limit, timeout_s = request.integer("limit"), request.integer("timeoutSeconds")
    return max(limit or 0, 0), timeout_s or 0


def watch_version(request: request_info.Request) -> int | None:
    """Return the resource version at which a watch begins, None to begin with current objects.

    Raises 422 if the watch's options contradict each other, 500 if the version is not a number.
    """
    _require_watch_options(request)
    return object_version(request) if request.query.get("resourceVersion") else None


def object_version(request: request_info.Request) -> int:
    """Return the `resourceVersion` of a GET, 0 for any. Raises 500 if it is not a number."""
    text = request.query.get("resourceVersion", "")
    if text and not _is_version(text):
        raise status_errors.StatusError(500, "", _bad_version(text))
    return int(text or 0)


# ------------------------------------------------------------------ options


def _require_list_options(request: request_info.Request) -> None:
    query, causes = request.query, []
    match = query.get(_MATCH, "")
    if match:
        if not query.get("resourceVersion"):
            causes.append(_forbidden("is forbidden unless resourceVersion is provided"))
        if match not in (_EXACT, _NOT_OLDER):
            causes.append(field_errors.unsupported(_MATCH, match, (_EXACT, _NOT_OLDER, "")))
        if match == _EXACT and query.get("resourceVersion") == "0":
            causes.append(_forbidden('"exact" is forbidden for resourceVersion "0"'))
    if "sendInitialEvents" in query:
        why = "sendInitialEvents is forbidden for list"
        causes.append(field_errors.forbidden("sendInitialEvents", why))
    if causes:
        raise status_errors.invalid_options("ListOptions", causes)


def _require_watch_options(request: request_info.Request) -> None:
    query, causes = request.query, []
    match, initial = query.get(_MATCH, ""), "sendInitialEvents" in query
    if initial and match != _NOT_OLDER:
        why = f"sendInitialEvents requires setting {_MATCH} to {_NOT_OLDER}"
        causes.append(field_errors.forbidden(_MATCH, why))
    if match and not initial:
        causes.append(_forbidden("is forbidden for watch unless sendInitialEvents is provided"))
    if match and match != _NOT_OLDER:
        causes.append(field_errors.unsupported(_MATCH, match, (_NOT_OLDER,)))
    if causes:
        raise status_errors.invalid_options("ListOptions", causes)


def _forbidden(why: str) -> Cause:
    return field_errors.forbidden(_MATCH, f"{_MATCH} {why}")
