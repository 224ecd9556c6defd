"""Pages of lists.

Every page of a list shows the objects at the resource version of the first page. If the history no
longer reaches that version, the response is 410 with a `continue` token for the current objects.
"""

import bisect
import dataclasses

from harness.apiserver.endpoints import list_options
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.storage import stored_objects, watch_cache

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


@dataclasses.dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    objects: list[stored_objects.Stored]
    meta: Document
    """The `metadata` of the list."""


def page(store: stores.Store, options: list_options.ListOptions) -> Page:
    """Return the page that a list request asks for.

    Raises 410 if its version is too old, 504 if it is too new.
    """
    if options.token is not None:
        return _continued(store, options, options.token)
    require_reached(store, options.version)
    selection, limit = options.selection, options.limit
    if not options.is_exact:
        return _cut(store.select(selection), store.resource_version, selection, limit)
    try:
        objects = store.select_at(selection, options.version)
    except status_errors.StatusError as error:
        raise status_errors.StatusError(410, "Expired", _TOO_OLD) from error
    return _cut(objects, options.version, selection, limit)


def require_reached(store: stores.Store, version: int) -> None:
    """Raise 504 if a resource version is ahead of the store."""
    if version <= store.resource_version:
        return
    message = f"Too large resource version: {version}, current: {store.resource_version}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    details = {"causes": causes, "retryAfterSeconds": 1}
    raise status_errors.StatusError(504, "Timeout", f"Timeout: {message}", details)


def _cut(
    objects: list[stored_objects.Stored], version: int, selection: watch_cache.Selection, limit: int
) -> Page:
    """Return the first `limit` objects as a page, 0 for all."""
    meta: Document = {"resourceVersion": str(version)}
    if limit and len(objects) > limit:
        last = _path(objects[limit - 1], selection)
        meta["continue"] = list_options.Token(rv=version, start=f"{last}\0").encoded()
        if selection.label is None and selection.field is None:
            meta["remainingItemCount"] = len(objects) - limit
        objects = objects[:limit]
    return Page(objects, meta)


def _continued(
    store: stores.Store, options: list_options.ListOptions, token: list_options.Token
) -> Page:
    selection = options.selection
    version = store.resource_version if token.rv == _INCONSISTENT else token.rv
    try:
        objects = store.select_at(selection, version)
    except status_errors.StatusError as error:
        raise _token_too_old(token) from error
    start = bisect.bisect_left(objects, token.start, key=lambda stored: _path(stored, selection))
    return _cut(objects[start:], version, selection, options.limit)


def _path(stored: stored_objects.Stored, selection: watch_cache.Selection) -> str:
    """Return the key by which a list is ordered.

    It is the name, prefixed with the namespace if all namespaces are listed.
    """
    if selection.namespace or not stored.namespace:
        return stored.name
    return f"{stored.namespace}/{stored.name}"


def _token_too_old(token: list_options.Token) -> status_errors.StatusError:
    again = list_options.Token(rv=_INCONSISTENT, start=token.start).encoded()
    return status_errors.StatusError(410, "Expired", _PAGE_TOO_OLD, metadata={"continue": again})
