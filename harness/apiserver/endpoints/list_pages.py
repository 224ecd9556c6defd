"""Lists and watches: what may be asked of them, and which objects one page of a list shows.

A list that is continued shows the objects as they were at the version of its first page. When the history no longer reaches back
so far the answer is 410, with a token that goes on with the objects as they are now.
"""

import base64
import binascii
import bisect
import dataclasses
import re

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import stored_objects, watch_cache

_EXACT, _NOT_OLDER = "Exact", "NotOlderThan"
_MATCH = "resourceVersionMatch"
_INCONSISTENT = -1
_TOO_OLD = "The resourceVersion for the provided list is too old."
_PAGE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without the "
    "continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with "
    "the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


class _Token(msgspec.Struct):
    """Where a list goes on, in Kubernetes' own format."""

    rv: int
    start: str
    v: str = "meta.k8s.io/v1"


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    found: list[stored_objects.Stored]
    meta: Document


def page(
    store: stores.Store, selection: watch_cache.Selection, request: request_info.Request
) -> Page:
    """The page that was asked for; 400, 410, 422 or 504 when there is no such page."""
    limit, _ = _integers(request)
    _require_list_options(request)
    if token := request.query.get("continue"):
        return _continued(store, selection, request, _read_token(token), limit)
    version, exact = _version(store, request, limit)
    if request.query.get("resourceVersion") == "0":
        limit = 0
    if not exact:
        return _cut(store.select(selection), store.resource_version, selection, limit)
    try:
        found = store.select_at(selection, version)
    except status_errors.StatusError as error:
        raise status_errors.StatusError(410, "Expired", _TOO_OLD) from error
    return _cut(found, version, selection, limit)


def watch_timeout_s(request: request_info.Request) -> int:
    """Return after how long a watch ends, 0 for never; 400 when this, or a limit, is no integer."""
    _, timeout_s = _integers(request)
    return timeout_s


def _integers(request: request_info.Request) -> tuple[int, int]:
    """(limit, timeoutSeconds); 400 when one of them is no integer."""
    limit, timeout_s = request.integer("limit"), request.integer("timeoutSeconds")
    return max(limit or 0, 0), timeout_s or 0


def watch_version(request: request_info.Request) -> int | None:
    """Where a watch begins, None for the objects as they are; 422 and 500 when it cannot begin."""
    _require_watch_options(request)
    text = request.query.get("resourceVersion", "")
    if not text:
        return None
    if not _is_version(text):
        raise status_errors.StatusError(500, "", _bad_version(text))
    return int(text)


def require_version(store: stores.Store, request: request_info.Request) -> None:
    """500 and 504 for the GET of an object at a version that is none, or is not there yet."""
    text = request.query.get("resourceVersion", "")
    if text and not _is_version(text):
        raise status_errors.StatusError(500, "", _bad_version(text))
    _require_reached(store, int(text or 0))


# ------------------------------------------------------------------ versions


def _version(store: stores.Store, request: request_info.Request, limit: int) -> tuple[int, bool]:
    """(version, whether it must be exactly this one)."""
    text = request.query.get("resourceVersion", "")
    if text and not _is_version(text):
        raise status_errors.bad_request(f"invalid resource version: {_bad_version(text)}")
    version = int(text or 0)
    _require_reached(store, version)
    match = request.query.get(_MATCH, "")
    return version, match == _EXACT or (version > 0 and limit > 0 and not match)


def _is_version(text: str) -> bool:
    return re.fullmatch(r"[0-9]{1,19}", text) is not None


def _bad_version(text: str) -> str:
    why = f'strconv.ParseUint: parsing "{text}": invalid syntax'
    return f'resourceVersion: Invalid value: "{text}": {why}'


def _require_reached(store: stores.Store, version: int) -> None:
    if version <= store.resource_version:
        return
    message = f"Too large resource version: {version}, current: {store.resource_version}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    details = {"causes": causes, "retryAfterSeconds": 1}
    raise status_errors.StatusError(504, "Timeout", f"Timeout: {message}", details)


# ------------------------------------------------------------------ pages


def _cut(
    found: list[stored_objects.Stored], version: int, selection: watch_cache.Selection, limit: int
) -> Page:
    meta: Document = {"resourceVersion": str(version)}
    if limit and len(found) > limit:
        after = _path(found[limit - 1], selection)
        meta["continue"] = _write_token(_Token(rv=version, start=f"{after}\0"))
        if selection.label is None and selection.field is None:
            meta["remainingItemCount"] = len(found) - limit
        found = found[:limit]
    return Page(found, meta)


def _continued(
    store: stores.Store,
    selection: watch_cache.Selection,
    request: request_info.Request,
    token: _Token,
    limit: int,
) -> Page:
    if request.query.get("resourceVersion", "") not in ("", "0"):
        why = "specifying resource version is not allowed when using continue"
        raise status_errors.bad_request(why)
    version = store.resource_version if token.rv == _INCONSISTENT else token.rv
    try:
        found = store.select_at(selection, version)
    except status_errors.StatusError as error:
        raise _token_too_old(token) from error
    after = bisect.bisect_left(found, token.start, key=lambda stored: _path(stored, selection))
    return _cut(found[after:], version, selection, limit)


def _path(stored: stored_objects.Stored, selection: watch_cache.Selection) -> str:
    """Where the object is in the list, relative to what is listed."""
    if selection.namespace or not stored.namespace:
        return stored.name
    return f"{stored.namespace}/{stored.name}"


def _write_token(token: _Token) -> str:
    return base64.urlsafe_b64encode(json_codec.encode(token)).decode().rstrip("=")


def _read_token(text: str) -> _Token:
    padded = text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4)
    try:
        token = msgspec.json.decode(base64.urlsafe_b64decode(padded), type=_Token)
    except (ValueError, binascii.Error, msgspec.DecodeError) as error:
        raise status_errors.bad_request(f"continue key is not valid: {error}") from error
    if token.v != "meta.k8s.io/v1":
        why = f'server does not recognize this encoded version "{token.v}"'
        raise status_errors.bad_request(f"continue key is not valid: {why}")
    return token


def _token_too_old(token: _Token) -> status_errors.StatusError:
    again = _write_token(_Token(rv=_INCONSISTENT, start=token.start))
    return status_errors.StatusError(410, "Expired", _PAGE_TOO_OLD, metadata={"continue": again})


# ------------------------------------------------------------------ options


def _require_list_options(request: request_info.Request) -> None:
    query, causes = request.query, []
    match = query.get(_MATCH, "")
    if match:
        if not query.get("resourceVersion"):
            causes.append(_forbidden("is forbidden unless resourceVersion is provided"))
        if query.get("continue"):
            causes.append(_forbidden("is forbidden when continue is provided"))
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
    if query.get("continue"):
        causes.append(_forbidden("is forbidden when continue is provided"))
    if causes:
        raise status_errors.invalid_options("ListOptions", causes)


def _forbidden(why: str) -> Cause:
    return field_errors.forbidden(_MATCH, f"{_MATCH} {why}")
