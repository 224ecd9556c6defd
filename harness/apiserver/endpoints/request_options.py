"""Options of writes in query and body, and the bodies of requests in any content type."""

import functools
from typing import Any

import msgspec

from harness.apiserver.codec import json_codec
from harness.apiserver.endpoints import negotiation, request_info
from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.registry import object_deletion
from harness.apiserver.scheme import api_types
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.serializer import (
    decoding,
    protobuf,
    request_objects,
)

MANAGER_BYTES_MAX = 128
"""Maximum length of `fieldManager` in UTF-8, in bytes."""
_OPTIONS_BY_METHOD = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """CreateOptions, UpdateOptions or PatchOptions, but for `force`."""

    manager: str
    """The field manager."""
    dry_run: bool
    """True if nothing is stored."""
    validation: request_objects.Validation
    """The treatment of unknown and duplicate fields."""


def of_write(request: request_info.Request) -> WriteOptions:
    """Return the options of a write. Raises 422 if one is invalid."""
    query = request.query
    if query:
        check(request, _OPTIONS_BY_METHOD[request.method])
    return WriteOptions(
        manager=manager(request),
        dry_run=query.get("dryRun") == "All",
        validation=request_objects.Validation(query.get("fieldValidation", "")),
    )


def check(request: request_info.Request, kind: str) -> None:
    """Raise 422 if an option of a write is invalid; `kind` is the name of the options' kind."""
    causes = [*_patch_causes(request), *_manager_causes(request.query.get("fieldManager", ""))]
    dry_run = request.query.get("dryRun")
    if dry_run not in (None, "", "All"):
        causes.append(_unknown_dry_run([dry_run]))
    directive = request.query.get("fieldValidation", "")
    if directive not in request_objects.DIRECTIVES:
        causes.append(
            field_errors.unsupported("fieldValidation", directive, request_objects.DIRECTIVES)
        )
    if causes:
        raise status_errors.invalid_options(kind, causes)


def require_manager(request: request_info.Request) -> None:
    """Raise 422 if an apply request has no `fieldManager`."""
    if not request.query.get("fieldManager"):
        cause = field_errors.required("fieldManager", "is required for apply patch")
        raise status_errors.invalid_options("PatchOptions", [cause])


def manager(request: request_info.Request) -> str:
    """Return the field manager: `fieldManager`, or the User-Agent up to its first slash."""
    return request.query.get("fieldManager") or _manager_of(request.headers.get("user-agent", ""))


@functools.lru_cache(1024)
def _manager_of(user_agent: str) -> str:
    name = "".join(filter(str.isprintable, user_agent.partition("/")[0]))
    return name.encode()[:MANAGER_BYTES_MAX].decode(errors="ignore")


def _patch_causes(request: request_info.Request) -> list[Cause]:
    is_apply = request.headers.get("content-type", "").startswith("application/apply-patch")
    if request.method == "PATCH" and "force" in request.query and not is_apply:
        return [field_errors.forbidden("force", "may not be specified for non-apply patch")]
    return []


def _manager_causes(name: str) -> list[Cause]:
    causes = []
    if len(name.encode()) > MANAGER_BYTES_MAX:
        message = f"Too long: may not be more than {MANAGER_BYTES_MAX} bytes"
        causes.append(Cause("FieldValueTooLong", message, "fieldManager"))
    for position, character in enumerate(name):
        if not character.isprintable():
            why = f"invalid character U+{ord(character):04X} (at position {position})"
            quoted = json_codec.encode(name).decode()
            causes.append(field_errors.invalid_value("fieldManager", quoted, why))
    return causes


def _unknown_dry_run(given: list[Any]) -> Cause:
    text = json_codec.encode(given).decode()
    message = f'Unsupported value: {text}: supported values: "All"'
    return Cause("FieldValueNotSupported", message, "dryRun")


# ------------------------------------------------------------------ deletions


def deletion(request: request_info.Request) -> object_deletion.DeleteOptions:
    """Return the options of a DELETE from its body, or from the query if the body is empty.

    Raises 400 if they cannot be decoded, 422 if they are invalid.
    """
    if request.body.strip():
        return deletion_options(_decode(request.body))
    query: Document = {}
    if policy := request.query.get("propagationPolicy"):
        query["propagationPolicy"] = policy
    if "orphanDependents" in request.query:
        query["orphanDependents"] = request.flag("orphanDependents")
    if grace_s := request.query.get("gracePeriodSeconds"):
        query["gracePeriodSeconds"] = request_info.parse_integer(grace_s)
    if dry_run := request.query.get("dryRun"):
        query["dryRun"] = [dry_run]
    return deletion_options(query)


def deletion_options(given: Document) -> object_deletion.DeleteOptions:
    """Return decoded DeleteOptions in the store's form. Raises 422 if they are invalid."""
    causes = _deletion_causes(given)
    if causes:
        raise status_errors.invalid_options("DeleteOptions", causes)
    policy = given.get("propagationPolicy") or ""
    if (orphans := given.get("orphanDependents")) is not None:
        policy = "Orphan" if orphans else "Background"
    grace_period_s = given.get("gracePeriodSeconds")
    if grace_period_s is not None and grace_period_s < 0:
        grace_period_s = 1
    return object_deletion.DeleteOptions(
        grace_period_s=grace_period_s,
        preconditions=given.get("preconditions") or {},
        propagation=policy,
        dry_run=bool(given.get("dryRun")),
    )


def _deletion_causes(given: Document) -> list[Cause]:
    causes = []
    policy = given.get("propagationPolicy")
    if policy is not None and given.get("orphanDependents") is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(field_errors.invalid_value("propagationPolicy", f'"{policy}"', why))
    elif policy is not None and policy not in object_deletion.POLICIES:
        known = (*object_deletion.POLICIES, "nil")
        causes.append(field_errors.unsupported("propagationPolicy", str(policy), known))
    dry_run = given.get("dryRun") or []
    if set(dry_run) - {"All"}:
        causes.append(_unknown_dry_run(dry_run))
    return causes


def _decode(body: bytes) -> Document:
    kind = api_types.of_kind("", "v1", "DeleteOptions")
    try:
        options: Document = decoding.read(kind, request_objects.parse(body), decoding.Tally())
    except decoding.MismatchError as error:
        raise status_errors.bad_request(f"not DeleteOptions: {error}") from error
    return options


def content_type(request: request_info.Request) -> str:
    """Return the media type of the body in lower case, without parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def json_body(request: request_info.Request, target: request_info.Target) -> bytes:
    """Return the body in JSON, converted if it is protobuf.

    Raises 400 if the body is malformed, 415 for other media types.
    """
    match content_type(request):
        case negotiation.JSON | "":
            return request.body
        case negotiation.PROTOBUF:
            return json_codec.encode(_read_protobuf(request, target))
    raise status_errors.unsupported_media_type((negotiation.JSON, negotiation.PROTOBUF))


def in_json(request: request_info.Request, target: request_info.Target) -> request_info.Request:
    """Return a DELETE with its body in JSON, which may be empty. Raises 400.

    Other media types than protobuf are taken for JSON.
    """
    if not request.body or content_type(request) != negotiation.PROTOBUF:
        return request
    return msgspec.structs.replace(request, body=json_body(request, target))


def _read_protobuf(request: request_info.Request, target: request_info.Target) -> Document:
    expected = target.body_type
    kind = "DeleteOptions" if request.method == "DELETE" else expected.kind
    return protobuf.read_body(request.body, api_version=expected.api_version, expected=kind)
