"""Request bodies in YAML and protobuf are converted to JSON before a verb is handled."""

from typing import Any

import msgspec

from harness.apiserver.codec import json_codec, protobuf_wire
from harness.apiserver.endpoints import negotiation, request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import protobuf, request_objects, yaml_bodies

PROTOBUF_FIELDS_MAX = 30_000
"""Maximum number of fields in all messages of one protobuf body together, approximately.

A full ResourceSlice has about 25,000.
"""


def content_type(request: request_info.Request) -> str:
    """Return the media type of the body in lower case, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def in_json(request: request_info.Request, target: request_info.Target) -> request_info.Request:
    """Return the request with its body in JSON; unchanged if it is neither protobuf nor YAML.

    Raises 400 if the body is malformed, 413 if it exceeds a limit.
    """
    match content_type(request):
        case negotiation.PROTOBUF if _has_object(request):
            return _with_json(request, _read_bounded(request, target))
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


def _read_bounded(request: request_info.Request, target: request_info.Target) -> Any:
    try:
        with protobuf_wire.at_most(PROTOBUF_FIELDS_MAX):
            return _read_protobuf(request, target)
    except protobuf_wire.TooManyError as error:
        why = f"a body may have at most {PROTOBUF_FIELDS_MAX} fields"
        message = f"Request entity too large: {why}"
        raise status_errors.StatusError(413, "RequestEntityTooLarge", message) from error


def _read_protobuf(request: request_info.Request, target: request_info.Target) -> Any:
    """Return the object in a protobuf envelope. Raises 400 if it cannot be decoded.

    Type fields that the envelope leaves empty default to those that the request's path implies.
    """
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
    """Return the `apiVersion` and `kind` that the request's path implies for its body."""
    resource = target.resource
    if request.method == "DELETE":
        return resource.api_version, "DeleteOptions"
    if target.subresource:
        resource = resources.carried_by(resource, target.subresource)
    return resource.api_version, resource.kind


def _with_json(request: request_info.Request, document: Any) -> request_info.Request:
    return msgspec.structs.replace(
        request,
        body=json_codec.encode(document),
        headers={**request.headers, "content-type": negotiation.JSON},
    )
