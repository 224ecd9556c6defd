"""Errors as Kubernetes says them: a Status object with code, reason, message, details and causes."""

from collections.abc import Sequence
from typing import Any

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme import resources


class StatusError(Exception):
    """A request that ends with a Status of failure."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        details: dict[str, Any] | None = None,
        *,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details
        self._metadata = metadata or {}

    def to_status(self) -> dict[str, Any]:
        """The Status object."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self._metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        return {**status, "code": self.code}


def about(resource: resources.ResourceType, name: str, *, kind: str = "") -> dict[str, Any]:
    """The details that say which object a Status is about; by its resource's plural, unless a kind is given."""
    found = {"name": name, "group": resource.group, "kind": kind or resource.plural}
    return {key: value for key, value in found.items() if value}


def invalid(resource: resources.ResourceType, name: str, causes: Sequence[Cause]) -> StatusError:
    """422: the object breaks rules."""
    what = f'{resource.qualified_kind} "{name}"'
    return unprocessable(what, causes, about(resource, name, kind=resource.kind))


def invalid_options(kind: str, causes: Sequence[Cause]) -> StatusError:
    """422: the options of a request break rules."""
    about_options = {"group": "meta.k8s.io", "kind": kind}
    return unprocessable(f'{kind}.meta.k8s.io ""', causes, about_options)


def unprocessable(
    what: str, causes: Sequence[Cause], details: dict[str, Any] | None = None
) -> StatusError:
    """422: something breaks rules; each text is said once, each cause is listed."""
    texts = list(dict.fromkeys(cause.text() for cause in causes))
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    listed = [cause.to_detail() for cause in causes]
    message = f"{what} is invalid: {joined}"
    return StatusError(422, "Invalid", message, {**(details or {}), "causes": listed})


def not_found(resource: resources.ResourceType, name: str) -> StatusError:
    """404: there is no such object."""
    message = f'{resource.qualified} "{name}" not found'
    return StatusError(404, "NotFound", message, about(resource, name))


def version_at_creation() -> StatusError:
    """500 without a reason, as Kubernetes answers when its storage is given a new object with a version."""
    return StatusError(500, "", "resourceVersion should not be set on objects to be created")


def already_exists(
    resource: resources.ResourceType, name: str, *, deleting: bool = False
) -> StatusError:
    """409: the name is taken, perhaps by what is on its way out."""
    message = f'{resource.qualified} "{name}" already exists'
    if deleting:
        message = f"object is being deleted: {message}"
    return StatusError(409, "AlreadyExists", message, about(resource, name))


def conflict(
    resource: resources.ResourceType, name: str, why: str, *, subresource: str = ""
) -> StatusError:
    """409: the object is not as the writer believed."""
    suffix = f"/{subresource}" if subresource else ""
    message = f'Operation cannot be fulfilled on {resource.qualified}{suffix} "{name}": {why}'
    return StatusError(
        409, "Conflict", message, about(resource, name, kind=resource.plural + suffix)
    )


def stale(resource: resources.ResourceType, name: str) -> StatusError:
    """409: the writer's resourceVersion is not the current one."""
    why = (
        "the object has been modified; please apply your changes to the latest version "
        "and try again"
    )
    return conflict(resource, name, why)


def bad_request(message: str) -> StatusError:
    """400: the request cannot be understood."""
    return StatusError(400, "BadRequest", message)


def denied(
    resource: resources.ResourceType, name: str, why: str, *, causes: Sequence[Cause] = ()
) -> StatusError:
    """403: the request is understood and refused."""
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    details = about(resource, name)
    if causes:
        details["causes"] = [cause.to_detail() for cause in causes]
    return StatusError(403, "Forbidden", message, details)


def expired(wanted: int, oldest: int) -> StatusError:
    """410: the history no longer reaches back so far."""
    return StatusError(410, "Expired", f"too old resource version: {wanted} ({oldest})")


def unauthorized() -> StatusError:
    """401: no token, or a wrong one."""
    return StatusError(401, "Unauthorized", "Unauthorized")


def unknown_path() -> StatusError:
    """404: nothing is served there."""
    message = "the server could not find the requested resource"
    return StatusError(404, "NotFound", message, {})


def method_not_allowed() -> StatusError:
    """405: the resource does not know the verb."""
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, {})


def not_served(what: str) -> StatusError:
    """501: Kubernetes serves it, this server does not."""
    message = f"{what} is not served: the embedded API server has no kubelets to talk to"
    return StatusError(501, "NotImplemented", message)


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """415: the body is of a type that is not accepted."""
    message = f"the body of the request was in an unknown format - accepted media types include: {', '.join(accepted)}"
    return StatusError(415, "UnsupportedMediaType", message)


def unsupported_patch_type() -> StatusError:
    """415: there are no patches of this type."""
    return StatusError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})


def too_busy(code: int, reason: str, why: str, retry_after_s: int) -> StatusError:
    """429 or 503: try again later."""
    return StatusError(code, reason, why, {"retryAfterSeconds": retry_after_s})


def too_large(limit: int) -> StatusError:
    """413: the body is larger than the limit in bytes."""
    message = f"Request entity too large: limit is {limit}"
    return StatusError(413, "RequestEntityTooLarge", message)


def success(details: dict[str, Any] | None = None, *, code: int | None = None) -> dict[str, Any]:
    """A Status of success."""
    status: dict[str, Any] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
    }
    if details:
        status["details"] = details
    return status | ({"code": code} if code is not None else {})
