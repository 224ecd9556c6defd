"""`Status` errors, with the codes and reasons of Kubernetes.

After k8s.io/apimachinery/pkg/api/errors/errors.go.
"""

from collections.abc import Sequence
from typing import Any

from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme import resources

_STATUS: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
"""Why a write conflicts whose `resourceVersion` is not the current one."""


class StatusError(Exception):
    """A request fails with this `Status`."""

    def __init__(
        self, code: int, reason: str, message: str, details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    def to_status(self) -> dict[str, Any]:
        reason = {"reason": self.reason} if self.reason else {}
        details = {} if self.details is None else {"details": self.details}
        about = {"status": "Failure", "message": self.message, **reason, **details}
        return {**_STATUS, **about, "code": self.code}


def about(resource: resources.ResourceType, name: str, *, kind: str = "") -> dict[str, Any]:
    """Return `details` that name an object; their `kind` is the plural unless `kind` is given."""
    details = {"name": name, "group": resource.group, "kind": kind or resource.plural}
    return {key: value for key, value in details.items() if value}


def _with_causes(details: dict[str, Any], causes: Sequence[Cause]) -> dict[str, Any]:
    return {**details, "causes": [cause.to_detail() for cause in causes]}


def invalid(resource: resources.ResourceType, name: str, causes: Sequence[Cause]) -> StatusError:
    kind = ".".join(filter(None, (resource.kind, resource.group)))
    return unprocessable(f'{kind} "{name}"', causes, about(resource, name, kind=resource.kind))


def unprocessable(
    what: str, causes: Sequence[Cause], details: dict[str, Any] | None = None
) -> StatusError:
    """422: `what` is invalid. The message drops duplicate texts, the causes are complete."""
    texts = list(dict.fromkeys(cause.text() for cause in causes))
    joined = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    message = f"{what} is invalid: {joined}"
    return StatusError(422, "Invalid", message, _with_causes(details or {}, causes))


def not_found(resource: resources.ResourceType, name: str) -> StatusError:
    message = f'{resource.qualified} "{name}" not found'
    return StatusError(404, "NotFound", message, about(resource, name))


def already_exists(
    resource: resources.ResourceType, name: str, *, deleting: bool = False
) -> StatusError:
    """409: an object of this name exists; `deleting` if it is being deleted."""
    message = f'{resource.qualified} "{name}" already exists'
    if deleting:
        message = f"object is being deleted: {message}"
    return StatusError(409, "AlreadyExists", message, about(resource, name))


def conflict(
    resource: resources.ResourceType, name: str, why: str, *, kind: str = ""
) -> StatusError:
    """409: the state of the object does not allow the write."""
    message = f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}'
    return StatusError(409, "Conflict", message, about(resource, name, kind=kind))


def bad_request(message: str) -> StatusError:
    """400: the request is malformed."""
    return StatusError(400, "BadRequest", message)


def denied(
    resource: resources.ResourceType, name: str, why: str, *, causes: Sequence[Cause] = ()
) -> StatusError:
    """403: admission forbids the request."""
    message = f'{resource.qualified} "{name}" is forbidden: {why}'
    details = about(resource, name)
    return StatusError(
        403, "Forbidden", message, _with_causes(details, causes) if causes else details
    )


def expired(requested: int, oldest: int) -> StatusError:
    """410: the resource version is older than the retained history."""
    return StatusError(410, "Expired", f"too old resource version: {requested} ({oldest})")


def too_large_version(requested: int, newest: int) -> StatusError:
    """504: the resource version is ahead of the store."""
    message = f"Timeout: Too large resource version: {requested}, current: {newest}"
    causes = [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}]
    return StatusError(504, "Timeout", message, {"causes": causes, "retryAfterSeconds": 1})


def unknown_path() -> StatusError:
    """404: the path is not served."""
    message = "the server could not find the requested resource"
    return StatusError(404, "NotFound", message, {})


def method_not_allowed() -> StatusError:
    message = "the server does not allow this method on the requested resource"
    return StatusError(405, "MethodNotAllowed", message, {})


def not_served(what: str) -> StatusError:
    """501: Kubernetes serves this, the embedded API server does not."""
    return StatusError(501, "NotImplemented", f"{what} is not served by the embedded API server")


def unsupported_media_type(accepted: Sequence[str]) -> StatusError:
    """415: the media type of the body is not accepted."""
    message = f"expected a body of one of the media types {', '.join(accepted)}"
    return StatusError(415, "UnsupportedMediaType", message)


def too_large(limit: int) -> StatusError:
    """413: the body is larger than `limit` bytes."""
    message = f"Request entity too large: limit is {limit}"
    return StatusError(413, "RequestEntityTooLarge", message)


def success(details: dict[str, Any] | None = None, *, code: int | None = None) -> dict[str, Any]:
    status = {**_STATUS, "status": "Success"} | ({"details": details} if details else {})
    return status | ({"code": code} if code is not None else {})
