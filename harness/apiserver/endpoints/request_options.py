"""Options of writes and deletions, and the bodies of requests in any content type.

`fieldValidation=Strict` rejects unknown fields, `Warn` (the default) returns them as warnings,
`Ignore` drops them silently. Values of the wrong type are always rejected.
"""

import functools
from typing import Any

import msgspec

from harness.apiserver import json_codec
from harness.apiserver.endpoints import request_info, responses
from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.registry import object_deletion
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import api_types, resources
from harness.apiserver.serializer import decoding, protobuf

MANAGER_BYTES_MAX = 128
"""Maximum length of a field manager in UTF-8, in bytes."""
_DIRECTIVES = ("", "Ignore", "Strict", "Warn")


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


def of_write(
    request: request_info.Request, subresource: str = "", *, is_apply: bool = False
) -> tuple[stores.Write, Validation]:
    """Return the options of a write, and the treatment of unknown fields.

    The field manager is `fieldManager`, which an apply request must have, or the User-Agent up to
    its first slash. Raises 422 if an option is invalid.
    """
    query = request.query
    named = query.get("fieldManager", "")
    if is_apply and not named:
        raise _invalid(field_errors.required("fieldManager", "is required for apply patch"))
    if len(named.encode()) > MANAGER_BYTES_MAX:
        raise _invalid(field_errors.too_long("fieldManager", MANAGER_BYTES_MAX))
    directive = query.get("fieldValidation", "")
    if directive not in _DIRECTIVES:
        raise _invalid(field_errors.unsupported("fieldValidation", directive, _DIRECTIVES))
    write = stores.Write(
        manager=named or _manager_of(request.user_agent),
        subresource=subresource,
        dry_run=_is_dry_run([query["dryRun"]] if query.get("dryRun") else []),
    )
    return write, Validation(directive)


@functools.lru_cache(1024)
def _manager_of(user_agent: str) -> str:
    name = "".join(filter(str.isprintable, user_agent.partition("/")[0]))
    return name.encode()[:MANAGER_BYTES_MAX].decode(errors="ignore")


def _is_dry_run(given: list[str]) -> bool:
    if set(given) - {"All"}:
        raise _invalid(field_errors.unsupported("dryRun", given, ("All",)))
    return bool(given)


def _invalid(cause: field_errors.Cause) -> status_errors.StatusError:
    return status_errors.unprocessable("the query", [cause], {"group": "meta.k8s.io"})


# ------------------------------------------------------------------ deletions


def deletion(request: request_info.Request) -> object_deletion.DeleteOptions:
    """Return the options of a DELETE from its body, or from the query if the body is empty.

    Raises 400 if they cannot be decoded, 422 if they are invalid, 501 for a propagation policy that
    is not served.
    """
    if request.body.strip():
        kind = api_types.of_kind("", "v1", "DeleteOptions")
        try:
            given = decoding.read(kind, _parsed(request, "v1", kind="DeleteOptions"))
        except ValueError as error:
            raise status_errors.bad_request(f"not DeleteOptions: {error}") from error
        return deletion_options(given)
    query: Document = {"propagationPolicy": request.query.get("propagationPolicy")}
    if (grace_s := request.integer("gracePeriodSeconds")) is not None:
        query["gracePeriodSeconds"] = grace_s
    if dry_run := request.query.get("dryRun"):
        query["dryRun"] = [dry_run]
    return deletion_options(query)


def deletion_options(given: Document) -> object_deletion.DeleteOptions:
    """Return decoded DeleteOptions in the store's form. Raises 422 or 501, see `deletion`."""
    policy = given.get("propagationPolicy") or "Background"
    if policy != "Background" or given.get("orphanDependents"):
        raise status_errors.not_served(f"propagationPolicy {policy}")
    grace_period_s = given.get("gracePeriodSeconds")
    if grace_period_s is not None and grace_period_s < 0:
        grace_period_s = 1
    return object_deletion.DeleteOptions(
        grace_period_s=grace_period_s,
        preconditions=given.get("preconditions") or {},
        dry_run=_is_dry_run(given.get("dryRun") or []),
    )


# ------------------------------------------------------------------ bodies


def document(
    request: request_info.Request, target: request_info.Target, validation: Validation
) -> Document:
    """Return the object in a body. Raises 400 if it is malformed, 415 for other media types."""
    expected = target.body_type
    if request.content_type not in (responses.JSON, responses.PROTOBUF, ""):
        raise status_errors.unsupported_media_type((responses.JSON, responses.PROTOBUF))
    try:
        parsed = _parsed(request, expected.api_version, kind=expected.kind)
        return _normalized(parsed, expected, validation)
    except ValueError as error:  # also of a malformed message
        raise status_errors.bad_request(f"not a {expected.kind}: {error}") from error


def patched(
    document: Document, resource: resources.ResourceType, validation: Validation
) -> Document:
    """Return the normalized result of a patch. Raises 422 if it is no object of the resource."""
    try:
        return _normalized(document, resource, validation)
    except ValueError as error:
        cause = field_errors.invalid("patch", document, str(error))
        raise status_errors.unprocessable("the patch", [cause]) from error


def _parsed(request: request_info.Request, api_version: str, *, kind: str) -> Any:
    if request.content_type == responses.PROTOBUF:
        return protobuf.document(request.body, api_version=api_version, kind=kind)
    return parse(request.body)


def parse(body: bytes) -> Any:
    """Return the JSON in a body. Raises 400 if it is malformed or nested too deep."""
    try:
        return json_codec.decode(body)
    except RecursionError as error:
        raise status_errors.bad_request(json_codec.TOO_DEEP) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise status_errors.bad_request(f"the body is not JSON: {error}") from error


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
    unknown: decoding.Unknown = []
    kind = api_types.of(resource)
    normalized: Document = decoding.read(kind, document, unknown)
    if unknown:
        validation.note_unknown(kind, document)
    return normalized
