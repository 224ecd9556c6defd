"""Pages of lists, and the options of lists and watches.

Every page of a list shows the objects at the resource version of the first page. If the history no
longer reaches that version, the response is 410 with a `continue` token for the current objects.
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
"""The `rv` of a token that continues with the current objects."""
_TOO_OLD = "The resourceVersion for the provided list is too old."
_PAGE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


class _Token(msgspec.Struct):
    """A `continue` token, in Kubernetes' own format."""

    rv: int
    start: str
    v: str = "meta.k8s.io/v1"


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    objects: list[stored_objects.Stored]
    meta: Document
    """The `metadata` of the list."""


def page(
    store: stores.Store, selection: watch_cache.Selection, request: request_info.Request
) -> Page:
    """Return the page that a list request asks for.

    Raises 400 or 422 if its options are wrong, 410 if its version is too old, 504 if it is too new.
    """
    limit, _ = _integers(request)
    _require_list_options(request)
    if token := request.query.get("continue"):
        return _continued(store, selection, request, _read_token(token), limit)
    version, is_exact = _version(store, request, limit)
    if request.query.get("resourceVersion") == "0":
        limit = 0
    if not is_exact:
        return _cut(store.select(selection), store.resource_version, selection, limit)
    try:
        objects = store.select_at(selection, version)
    except status_errors.StatusError as error:
        raise status_errors.StatusError(410, "Expired", _TOO_OLD) from error
    return _cut(objects, version, selection, limit)


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
    text = request.query.get("resourceVersion", "")
    if not text:
        return None
    if not _is_version(text):
        raise status_errors.StatusError(500, "", _bad_version(text))
    return int(text)


def require_version(store: stores.Store, request: request_info.Request) -> None:
    """Check `resourceVersion` of a GET. Raises 500 if it is not a number, 504 if it is ahead."""
    text = request.query.get("resourceVersion", "")
    if text and not _is_version(text):
        raise status_errors.StatusError(500, "", _bad_version(text))
    _require_reached(store, int(text or 0))


# ------------------------------------------------------------------ versions


def _version(store: stores.Store, request: request_info.Request, limit: int) -> tuple[int, bool]:
    """Return the version that a list asks for, and whether it must be exactly this one."""
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
    objects: list[stored_objects.Stored], version: int, selection: watch_cache.Selection, limit: int
) -> Page:
    """Return the first `limit` objects as a page, 0 for all."""
    meta: Document = {"resourceVersion": str(version)}
    if limit and len(objects) > limit:
        last = _path(objects[limit - 1], selection)
        meta["continue"] = _write_token(_Token(rv=version, start=f"{last}\0"))
        if selection.label is None and selection.field is None:
            meta["remainingItemCount"] = len(objects) - limit
        objects = objects[:limit]
    return Page(objects, meta)


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
        objects = store.select_at(selection, version)
    except status_errors.StatusError as error:
        raise _token_too_old(token) from error
    start = bisect.bisect_left(objects, token.start, key=lambda stored: _path(stored, selection))
    return _cut(objects[start:], version, selection, limit)


def _path(stored: stored_objects.Stored, selection: watch_cache.Selection) -> str:
    """Return the key by which a list is ordered.

    It is the name, prefixed with the namespace if all namespaces are listed.
    """
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
