"""Options of writes and deletions, and the bodies of requests in any content type."""

import functools
from typing import Any

import msgspec

from harness import protobuf_wire
from harness.apiserver.endpoints import request_info, responses
from harness.apiserver.errors import field_errors, status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.registry import object_deletion
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import api_types
from harness.apiserver.serializer import decoding, protobuf, request_objects

MANAGER_BYTES_MAX = 128
"""Maximum length of a field manager in UTF-8, in bytes."""


class WriteOptions(msgspec.Struct, frozen=True, kw_only=True):
    """CreateOptions, UpdateOptions or PatchOptions, but for `force`."""

    write: stores.Write
    """The field manager is `fieldManager`, or the User-Agent up to its first slash."""
    validation: request_objects.Validation
    """The treatment of unknown fields."""


def of_write(request: request_info.Request, subresource: str = "") -> WriteOptions:
    """Return the options of a write. Raises 422 if one is invalid."""
    query = request.query
    named = query.get("fieldManager", "")
    if len(named.encode()) > MANAGER_BYTES_MAX:
        raise _invalid(field_errors.too_long("fieldManager", MANAGER_BYTES_MAX))
    directive = query.get("fieldValidation", "")
    if directive not in request_objects.DIRECTIVES:
        known = request_objects.DIRECTIVES
        raise _invalid(field_errors.unsupported("fieldValidation", directive, known))
    return WriteOptions(
        write=stores.Write(
            manager=named or _manager_of(request.user_agent),
            subresource=subresource,
            dry_run=_is_dry_run([query["dryRun"]] if query.get("dryRun") else []),
        ),
        validation=request_objects.Validation(directive),
    )


@functools.lru_cache(1024)
def _manager_of(user_agent: str) -> str:
    name = "".join(filter(str.isprintable, user_agent.partition("/")[0]))
    return name.encode()[:MANAGER_BYTES_MAX].decode(errors="ignore")


def require_manager(request: request_info.Request) -> None:
    """Raise 422 if an apply request has no `fieldManager`."""
    if not request.query.get("fieldManager"):
        raise _invalid(field_errors.required("fieldManager", "is required for apply patch"))


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
    request: request_info.Request,
    target: request_info.Target,
    validation: request_objects.Validation,
) -> Document:
    """Return the object in a body. Raises 400 if it is malformed, 415 for other media types."""
    expected = target.body_type
    if request.content_type not in (responses.JSON, responses.PROTOBUF, ""):
        raise status_errors.unsupported_media_type((responses.JSON, responses.PROTOBUF))
    try:
        parsed = _parsed(request, expected.api_version, kind=expected.kind)
    except protobuf_wire.MalformedError as error:
        raise status_errors.bad_request(f"not a {expected.kind}: {error}") from error
    return request_objects.read(parsed, expected, validation)


def _parsed(request: request_info.Request, api_version: str, *, kind: str) -> Any:
    if request.content_type == responses.PROTOBUF:
        return protobuf.document(request.body, api_version=api_version, kind=kind)
    return request_objects.parse(request.body)
