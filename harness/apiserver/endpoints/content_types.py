"""Bodies in other media types than JSON: read once, at the door, so that everything behind it sees JSON."""

from typing import Any

import msgspec

from harness.apiserver.codec import json_codec, protobuf_wire
from harness.apiserver.endpoints import negotiation, request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import protobuf, request_objects, yaml_bodies

PROTOBUF_FIELDS_MAX = 30_000
"""Fields of all messages in a body together, approximately; a full ResourceSlice has about 25,000."""


def content_type(request: request_info.Request) -> str:
    """The media type of the body, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def in_json(request: request_info.Request, target: request_info.Target) -> request_info.Request:
    """The request with its body in JSON; of a media type that cannot be read it is returned as it is."""
    match content_type(request):
        case negotiation.PROTOBUF if _has_object(request):
            return _with_body(request, _read_few(request, target), negotiation.JSON)
        case negotiation.YAML if request.body:
            return _with_body(request, yaml_bodies.read(request.body), negotiation.JSON)
    return request


def json_body(request: request_info.Request) -> bytes:
    """The body of a request that `in_json` has made; 415 when it is of a media type that cannot be read."""
    if content_type(request) not in (negotiation.JSON, ""):
        raise status_errors.unsupported_media_type(negotiation.MEDIA_TYPES)
    return request.body


def _has_object(request: request_info.Request) -> bool:
    """Patches are never in protobuf; a deletion need not have a body."""
    return request.method in ("POST", "PUT") or (request.method == "DELETE" and bool(request.body))


def _read_few(request: request_info.Request, target: request_info.Target) -> Any:
    try:
        with protobuf_wire.at_most(PROTOBUF_FIELDS_MAX):
            return _read_protobuf(request, target)
    except protobuf_wire.TooManyError as error:
        why = f"a body may have at most {PROTOBUF_FIELDS_MAX} fields"
        message = f"Request entity too large: {why}"
        raise status_errors.StatusError(413, "RequestEntityTooLarge", message) from error


def _read_protobuf(request: request_info.Request, target: request_info.Target) -> Any:
    """The object in an envelope; 400 when there is none. What the envelope does not say is what is expected."""
    api_version, expected = _expected(request, target)
    try:
        envelope = protobuf.open_envelope(request.body)
    except protobuf_wire.MalformedError as error:
        raise request_objects.unrecognized(expected, str(error), request.body) from error
    kind = envelope.kind or expected
    group, _, version = (envelope.api_version or api_version).rpartition("/")
    try:
        document = protobuf.read(api_types.of_kind(group, version, kind), envelope.message)
    except protobuf_wire.MalformedError as error:
        raise request_objects.unfit(kind, version, expected, str(error)) from error
    except KeyError as error:
        why = request_objects.unregistered(group, version, kind)
        raise request_objects.unfit(kind, version, expected, why) from error
    return {"kind": kind, "apiVersion": envelope.api_version or api_version, **document}


def _expected(request: request_info.Request, target: request_info.Target) -> tuple[str, str]:
    """(group/version, kind) of the object that belongs into the body."""
    resource = target.resource
    if request.method == "DELETE":
        return resource.api_version, "DeleteOptions"
    if target.subresource:
        resource = resources.carried_by(resource, target.subresource)
    return resource.api_version, resource.kind


def _with_body(request: request_info.Request, document: Any, media: str) -> request_info.Request:
    return msgspec.structs.replace(
        request,
        body=json_codec.encode(document),
        headers={**request.headers, "content-type": media},
    )
