"""Faults of requests and events: the facts of one, and the older state that a read may show."""

from harness.apiserver.endpoints import request_info, responses
from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.storage import stored_objects
from harness.faults import api_calls, matching, object_metadata, stale_reads


def of_request(
    request: request_info.Request, answer: responses.Response | None, *, newest_version: int
) -> matching.Facts:
    """Return the facts of a request (`answer` None), or of a response before it is sent."""
    is_watch = request.verb == "watch"
    call = api_calls.parse(request.method, request.path, "watch=1" if is_watch else "")
    body = request.body if answer is None else answer.body
    shown = object_metadata.of_body(body) or object_metadata.UNKNOWN
    version = shown.version if answer is not None else 0
    return matching.Facts(
        verb=call.verb,
        path=request.path,
        user_agent=request.user_agent,
        client=client_of(request),
        resource=call.resource,
        subresource=call.subresource,
        namespace=call.namespace,
        name=call.name or shown.name,
        uid=shown.uid,
        resource_version=version or newest_version,
    )


def of_event(
    request: request_info.Request,
    resource: str,
    kind: str,
    version: int,
    stored: stored_objects.Stored | None = None,
) -> matching.Facts:
    """Return the facts of an event of a watch; `stored` None: of a bookmark."""
    return matching.Facts(
        verb="watch",
        path=request.path,
        user_agent=request.user_agent,
        client=client_of(request),
        resource=resource,
        namespace=stored.namespace if stored else "",
        name=stored.name if stored else "",
        uid=stored.uid if stored else "",
        event_type=kind,
        resource_version=version,
    )


def client_of(request: request_info.Request) -> str:
    """Return the name of the client that sent a request; empty if it is unknown."""
    return api_calls.client_of(request.headers.get("impersonate-user", ""))


# ------------------------------------------------------------------ stale reads


def older_state(
    store: stores.Store,
    times: stale_reads.VersionTimes,
    request: request_info.Request,
    seconds: float,
) -> tuple[int, str] | None:
    """Return the version of some seconds ago that a read may show, and a remark for the record.

    None if it is no read of resources, asks for an exact or a newer version, or if its result has
    not changed since.
    """
    target = request.target
    if target is None or not target.resource.is_stored or request.verb not in ("get", "list"):
        return None
    older = times.ago(seconds, first=store.first_version(target.resource))
    if older is None or not stale_reads.accepts(request.query, older[0]):
        return None
    return older if _has_changed(store, request, target, older[0]) else None


def has_new_finalizers(
    store: stores.Store,
    times: stale_reads.VersionTimes,
    request: request_info.Request,
    seconds: float,
) -> bool:
    """Return whether a request names an object that had no finalizers at some time since then.

    It has some now, and is not being deleted.
    """
    target = request.target
    if target is None or not target.resource.is_stored or target.subresource:
        return False
    older = times.ago(seconds, first=store.first_version(target.resource))
    try:
        now = store.get(target.resource, target.namespace, target.name)
    except status_errors.StatusError:
        return False  # it is gone
    if older is None or now.deleting or not _has_finalizers(now):
        return False
    commits = store.commits_after(target.resource, older[0])
    mine = [commit for commit in commits if commit.object.uid == now.uid]
    states = [state for commit in mine for state in (commit.previous, commit.object) if state]
    return not all(map(_has_finalizers, states))


def _has_finalizers(stored: stored_objects.Stored) -> bool:
    return bool(stored.document()["metadata"].get("finalizers"))


def _has_changed(
    store: stores.Store, request: request_info.Request, target: request_info.Target, version: int
) -> bool:
    """Return whether a read of the current state would show something else."""
    try:
        selection = request.selection(target)  # for a get, of the object of that name
    except status_errors.StatusError:
        return False  # the request will be refused
    commits = store.commits_after(target.resource, version)
    return any(True for _ in selection.sees_all(commits))
