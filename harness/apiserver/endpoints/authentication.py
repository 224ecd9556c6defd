"""Bearer tokens, and reviews of them and of rights, which are not stored.

There is no RBAC: the user of the token may do everything.
"""

import hmac

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.json_codec import Document
from harness.apiserver.scheme import resources

USER, GROUPS = "flake-hunt", ("system:masters", "system:authenticated")
"""The user of the token."""
_EVERYTHING = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_STATUSES: dict[str, Document] = {
    "SelfSubjectReview": {"userInfo": {"username": USER, "groups": GROUPS}},
    "SelfSubjectRulesReview": _EVERYTHING,
    "TokenReview": {"user": {}, "error": "this server does not review tokens"},
}


def require_token(authorization: bytes, token: bytes) -> None:
    """Raise 401 for an `Authorization` header without this token, in constant time."""
    scheme, *rest = authorization.strip().split(b" ", 2)
    if scheme.lower() != b"bearer" or not rest or not hmac.compare_digest(rest[0], token):
        raise status_errors.StatusError(401, "Unauthorized", "Unauthorized")


def forbidden(request: request_info.Request) -> status_errors.StatusError:
    """Return 403 for a request for a resource, as if the user had no role yet."""
    message = f'forbidden: User "{USER}" cannot {request.verb} path "{request.path}"'
    target = request.target
    details = status_errors.about(target.resource, target.name) if target else None
    return status_errors.StatusError(403, "Forbidden", message, details)


def review(resource: resources.ResourceType, document: Document) -> Document:
    """Return a review with its `status` filled in."""
    asked = document.get("spec") or {}
    is_allowed = asked.get("user", USER) == USER
    echoed = {} if resource.kind == "SelfSubjectReview" else {"spec": asked}
    return {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": document.get("metadata") or {},
        **echoed,
        "status": _STATUSES.get(resource.kind, {"allowed": is_allowed}),
    }
