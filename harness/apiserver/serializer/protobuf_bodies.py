"""Decode protobuf bodies, with a limit on the number of fields."""

from harness.apiserver.codec import protobuf_wire
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import api_types
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import protobuf, request_objects

FIELDS_MAX = 30_000
"""Maximum number of fields in all messages of one body together, approximately.

A full ResourceSlice has about 25,000.
"""


def read(body: bytes, *, api_version: str, kind: str) -> Document:
    """Return the object in a protobuf envelope as it is in JSON.

    Type fields that the envelope leaves empty default to `api_version` and `kind`. Raises 400 if
    the body cannot be decoded, 413 if it has too many fields.
    """
    try:
        with protobuf_wire.at_most(FIELDS_MAX):
            return _read(body, api_version, kind)
    except protobuf_wire.TooManyError as error:
        why = f"a body may have at most {FIELDS_MAX} fields"
        message = f"Request entity too large: {why}"
        raise status_errors.StatusError(413, "RequestEntityTooLarge", message) from error


def _read(body: bytes, api_version: str, expected: str) -> Document:
    try:
        envelope = protobuf.open_envelope(body)
    except protobuf_wire.MalformedError as error:
        raise request_objects.unrecognized(expected, str(error), body) from error
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
