"""Bodies in other media types than JSON: read once, at the door, so that everything behind it sees JSON."""

from typing import Any

import msgspec

from harness.apiserver import (
    bodies,
    negotiating,
    protobuf,
    requesting,
    resources,
    schemas,
    statuses,
    storing,
    wire,
    yaml_bodies,
)

PROTOBUF_FIELDS_MAX = 50_000
"""Of all messages in a body together, approximately."""


def content_type(request: requesting.Request) -> str:
    """The media type of the body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def in_json(request: requesting.Request, target: requesting.Target) -> requesting.Request:
    """The request with its body in JSON; of a media type that cannot be read it is returned as it is."""
    match content_type(request):
        case negotiating.PROTOBUF if _has_object(request):
            return _with_body(request, _read_few(request, target), negotiating.JSON)
        case negotiating.YAML if request.body:
            return _with_body(request, yaml_bodies.read(request.body), negotiating.JSON)
    return request


def json_body(request: requesting.Request) -> bytes:
    """The body of a request that `in_json` has made; 415 when it is of a media type that cannot be read."""
    if content_type(request) not in (negotiating.JSON, ""):
        raise statuses.unsupported_media_type(negotiating.MEDIA_TYPES)
    return request.body


def _has_object(request: requesting.Request) -> bool:
    """Patches are never in protobuf; a deletion need not have a body."""
    return request.method in ("POST", "PUT") or (request.method == "DELETE" and bool(request.body))


def _read_few(request: requesting.Request, target: requesting.Target) -> Any:
    try:
        with wire.at_most(PROTOBUF_FIELDS_MAX):
            return _read_protobuf(request, target)
    except wire.TooManyError as error:
        why = f"a body may have at most {PROTOBUF_FIELDS_MAX} fields"
        message = f"Request entity too large: {why}"
        raise statuses.StatusError(413, "RequestEntityTooLarge", message) from error


def _read_protobuf(request: requesting.Request, target: requesting.Target) -> Any:
    """The object in an envelope; 400 when there is none. What the envelope does not say is what is expected."""
    api_version, expected = _expected(request, target)
    try:
        envelope = protobuf.open_envelope(request.body)
    except wire.MalformedError as error:
        raise bodies.unrecognized(expected, str(error), request.body) from error
    kind = envelope.kind or expected
    group, _, version = (envelope.api_version or api_version).rpartition("/")
    try:
        document = protobuf.read(schemas.of_kind(group, version, kind), envelope.message)
    except wire.MalformedError as error:
        raise bodies.unfit(kind, version, expected, str(error)) from error
    except KeyError as error:
        why = bodies.unregistered(group, version, kind)
        raise bodies.unfit(kind, version, expected, why) from error
    return {"kind": kind, "apiVersion": envelope.api_version or api_version, **document}


def _expected(request: requesting.Request, target: requesting.Target) -> tuple[str, str]:
    """(group/version, kind) of the object that belongs into the body."""
    resource = target.resource
    if request.method == "DELETE":
        return resource.api_version, "DeleteOptions"
    if target.subresource:
        resource = resources.carried_by(resource, target.subresource)
    return resource.api_version, resource.kind


def _with_body(request: requesting.Request, document: Any, media: str) -> requesting.Request:
    return msgspec.structs.replace(
        request,
        body=storing.encode(document),
        headers={**request.headers, "content-type": media},
    )
