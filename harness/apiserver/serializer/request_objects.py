"""Decode objects and the results of patches, with field validation.

`fieldValidation=Strict` rejects unknown fields, `Warn` (the default) returns them as warnings,
`Ignore` drops them silently. Values of the wrong type are always rejected.
"""

from typing import Any

import msgspec

from harness.apiserver import json_codec
from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import decoding

DIRECTIVES = ("", "Ignore", "Strict", "Warn")


class Validation(msgspec.Struct, frozen=True):
    """The treatment of unknown fields in one request."""

    directive: str = ""
    """The value of `fieldValidation`."""
    warnings: list[str] = msgspec.field(default_factory=list)
    """Texts of `Warning` headers."""

    def note_unknown(self, kind: api_types.Type, document: Document) -> None:
        """Raise ValueError for the unknown fields of a document, warn of them, or do nothing."""
        if self.directive == "Ignore":
            return
        problems = [f'unknown field "{at}"' for at in decoding.unknown_fields(kind, document)]
        if self.directive == "Strict":
            raise ValueError(f"strict decoding error: {', '.join(problems)}")
        self.warnings.extend(problems)


def parse(body: bytes) -> Any:
    """Return the JSON in a body. Raises 400 if it is malformed or nested too deep."""
    try:
        return json_codec.decode(body)
    except RecursionError as error:
        raise status_errors.bad_request(json_codec.TOO_DEEP) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise status_errors.bad_request(f"the body is not JSON: {error}") from error


def read(document: Any, resource: resources.ResourceType, validation: Validation) -> Document:
    """Return a normalized object. Raises 400 if it is not one of this resource."""
    try:
        return _normalized(document, resource, validation)
    except ValueError as error:
        raise status_errors.bad_request(f"not a {resource.kind}: {error}") from error


def patched(
    document: Document, resource: resources.ResourceType, validation: Validation
) -> Document:
    """Return the normalized result of a patch. Raises 422 if it is no object of the resource."""
    try:
        return _normalized(document, resource, validation)
    except ValueError as error:
        cause = field_errors.invalid("patch", document, str(error))
        raise status_errors.unprocessable("the patch", [cause]) from error


def _normalized(
    document: Any, resource: resources.ResourceType, validation: Validation
) -> Document:
    """Raises ValueError if the document is not of the type, or has fields that it may not have."""
    if not isinstance(document, dict):
        raise ValueError("expected an object")  # noqa: TRY004 - as for wrong values below
    expected = resource.api_version, resource.kind
    named = document.get("apiVersion") or expected[0], document.get("kind") or expected[1]
    if named != expected:
        raise ValueError(f"expected {expected[1]} of {expected[0]}, got {named[1]} of {named[0]}")
    kind, tally = api_types.of(resource), decoding.Tally()
    normalized: Document = decoding.read(kind, document, tally)
    if tally.unknown:
        validation.note_unknown(kind, document)
    return normalized
