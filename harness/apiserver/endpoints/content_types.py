"""The media types of request bodies; YAML and protobuf are converted to JSON."""

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import negotiation, request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import protobuf_bodies, yaml_bodies


def content_type(request: request_info.Request) -> str:
    """Return the media type of the body in lower case, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def json_body(request: request_info.Request, target: request_info.Target) -> bytes:
    """Return the body in JSON, converted if it is YAML or protobuf.

    Raises 400 if the body is malformed, 413 if it exceeds a limit, 415 for other media types.
    """
    match content_type(request):
        case negotiation.JSON | "":
            return request.body
        case negotiation.PROTOBUF:
            return json_codec.encode(_read_protobuf(request, target))
        case negotiation.YAML if request.body:
            return json_codec.encode(yaml_bodies.read(request.body))
    raise status_errors.unsupported_media_type(negotiation.MEDIA_TYPES)


def in_json(request: request_info.Request, target: request_info.Target) -> request_info.Request:
    """Return a DELETE with its body in JSON. Raises 400 or 413.

    The body may be empty; other media types than YAML and protobuf are taken for JSON.
    """
    if not request.body or content_type(request) not in (negotiation.PROTOBUF, negotiation.YAML):
        return request
    return msgspec.structs.replace(request, body=json_body(request, target))


def _read_protobuf(request: request_info.Request, target: request_info.Target) -> Document:
    expected = target.body_type
    kind = "DeleteOptions" if request.method == "DELETE" else expected.kind
    return protobuf_bodies.read(request.body, api_version=expected.api_version, kind=kind)
