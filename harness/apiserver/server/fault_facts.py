"""The facts of requests, responses and watch events, by which faults match and are recorded."""

from harness.apiserver.endpoints import request_info, responses
from harness.apiserver.storage import stored_objects
from harness.faults import api_calls, matching, object_metadata


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
