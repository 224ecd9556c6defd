"""Decode patches from request bodies, and the objects that they result in, with field validation.

Messages are those of kube-apiserver.
"""

import json
from typing import Any

from harness.apiserver.codec import json_codec
from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import decoding, json_bodies, request_objects, strict_decoding

_OPERATION_FIELDS = ("op", "path", "from", "value")


def decode(
    body: bytes, validation: request_objects.Validation, *, is_text: bool = False
) -> tuple[Any, list[str]]:
    """Return a decoded patch and the problems that strict decoding finds in it. Raises 400.

    A list is a JSON patch.
    """
    prefix = "error decoding patch: " if is_text else ""
    try:
        patch = json_bodies.decode_as_go(body)
        return _strict_patch(patch, body) if validation.is_on else (patch, [])
    except RecursionError as error:
        raise status_errors.bad_request(f"{prefix}{json_codec.TOO_DEEP}") from error
    except ValueError as error:
        raise status_errors.bad_request(f"{prefix}{error}") from error


def _strict_patch(patch: Any, body: bytes) -> tuple[Any, list[str]]:
    if isinstance(patch, list):
        return patch, [f"json patch {problem}" for problem in _operation_problems(body)]
    if strict_decoding.has_unique_keys(body, decoding.count_keys(patch)):
        return patch, []
    reparsed = json_bodies.parse(body)
    return reparsed, strict_decoding.duplicates(reparsed)


def _operation_problems(body: bytes) -> list[str]:
    operations = json_bodies.parse(body)
    unknown = [
        f'unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations)
        if isinstance(operation, dict)
        for name in operation
        if name not in _OPERATION_FIELDS
    ]
    return strict_decoding.duplicates(operations) + unknown


def patched(
    document: Document,
    resource: resources.ResourceType,
    validation: request_objects.Validation,
    problems: list[str],
    *,
    is_text: bool = False,
) -> Document:
    """Return the normalized result of a patch. Raises 422 if it is not an object of the resource.

    `problems` are those that strict decoding found in the patch. `is_text` marks JSON and merge
    patches: they change the object's JSON, and so may change its kind.
    """
    kind = _patched_type(document, resource) if is_text else api_types.of(resource)
    tally = decoding.Tally()
    try:
        normalized: Document = decoding.read(kind, document, tally)
    except decoding.MismatchError:
        raise _bad_patch(document, strict_decoding.mismatch(kind, document)) from None
    if kind is not api_types.of(resource):
        _, version, name = request_objects.kind_of(document, resource)
        raise _bad_patch(document, request_objects.unconvertible(version, name, resource))
    if tally.unknown and validation.is_on:
        problems = problems + strict_decoding.problems(kind, document)
    if rejection := validation.rejection(problems):
        raise _bad_patch(document, rejection)
    return normalized


def _patched_type(document: Document, resource: resources.ResourceType) -> api_types.Type:
    try:
        return request_objects.type_in(document, resource)
    except ValueError as error:
        raise _bad_patch(document, str(error)) from error


def _bad_patch(document: Any, why: str) -> status_errors.StatusError:
    text = json.dumps(json.dumps(document, separators=(",", ":"), sort_keys=True))
    cause = field_errors.invalid_value("patch", text, why)
    return status_errors.unprocessable(' ""', [cause])
