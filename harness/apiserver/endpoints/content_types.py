"""The media types of request bodies; YAML and protobuf are converted to JSON."""

from typing import Any

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import negotiation, request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.serializer import protobuf_bodies, yaml_bodies


def content_type(request: request_info.Request) -> str:
    """Return the media type of the body in lower case, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def in_json(request: request_info.Request, target: request_info.Target) -> request_info.Request:
    """Return the request with its body in JSON; unchanged if it is neither protobuf nor YAML.

    Raises 400 if the body is malformed, 413 if it exceeds a limit.
    """
    match content_type(request):
        case negotiation.PROTOBUF if _has_object(request):
            return _with_json(request, _read_protobuf(request, target))
        case negotiation.YAML if request.body:
            return _with_json(request, yaml_bodies.read(request.body))
    return request


def json_body(request: request_info.Request) -> bytes:
    """Return the body of a request that `in_json` has converted. Raises 415 if it is not JSON."""
    if content_type(request) not in (negotiation.JSON, ""):
        raise status_errors.unsupported_media_type(negotiation.MEDIA_TYPES)
    return request.body


def _has_object(request: request_info.Request) -> bool:
    """Return whether the body is an API object: a patch is none, and a DELETE may be empty."""
    return request.method in ("POST", "PUT") or (request.method == "DELETE" and bool(request.body))


def _read_protobuf(request: request_info.Request, target: request_info.Target) -> Any:
    expected = target.body_type
    kind = "DeleteOptions" if request.method == "DELETE" else expected.kind
    return protobuf_bodies.read(request.body, api_version=expected.api_version, kind=kind)


def _with_json(request: request_info.Request, document: Any) -> request_info.Request:
    return msgspec.structs.replace(
        request,
        body=json_codec.encode(document),
        headers={**request.headers, "content-type": negotiation.JSON},
    )
