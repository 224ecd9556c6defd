"""The facts of requests, responses and watch events, by which faults match and are recorded."""

import msgspec

from harness.apiserver.endpoints import request_info, responses
from harness.apiserver.serializer import protobuf
from harness.apiserver.storage import stored_objects
from harness.faults import api_calls, matching


class Meta(msgspec.Struct, rename="camel", gc=False):
    """The metadata in a body by which an object is known."""

    name: str = ""
    uid: str = ""
    resource_version: str = ""


class _Object(msgspec.Struct):
    metadata: Meta = msgspec.field(default_factory=Meta)


_object_decoder = msgspec.json.Decoder(_Object)


def metadata_in(body: bytes) -> Meta | None:
    """Return the metadata of the object in a body of JSON or protobuf; None if there is none."""
    try:
        if body.startswith(protobuf.MAGIC):
            return msgspec.convert(protobuf.document(body), _Object).metadata
        return _object_decoder.decode(body).metadata
    except (ValueError, RecursionError):
        return None


def of_request(
    request: request_info.Request, answer: responses.Response | None, *, newest_version: int
) -> matching.Facts:
    """Return the facts of a request (`answer` None), or of a response before it is sent."""
    is_watch = request.verb == "watch"
    call = api_calls.parse(request.method, request.path, "watch=1" if is_watch else "")
    shown = metadata_in(answer.body if answer is not None else request.body) or Meta()
    version = shown.resource_version if answer is not None else ""
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
        resource_version=int(version or newest_version),
    )


def of_event(
    request: request_info.Request, resource: str, kind: str, stored: stored_objects.Stored
) -> matching.Facts:
    """Return the facts of an event of a watch; `resource` is the plural name."""
    return msgspec.structs.replace(
        of_bookmark(request, resource, stored.resource_version),
        namespace=stored.namespace,
        name=stored.name,
        uid=stored.uid,
        event_type=kind,
    )


def of_bookmark(request: request_info.Request, resource: str, version: int) -> matching.Facts:
    return matching.Facts(
        verb="watch",
        path=request.path,
        user_agent=request.user_agent,
        client=client_of(request),
        resource=resource,
        event_type="BOOKMARK",
        resource_version=version,
    )


def client_of(request: request_info.Request) -> str:
    """Return the name of the client that sent a request; empty if it is unknown."""
    return api_calls.client_of(request.headers.get("impersonate-user", ""))
