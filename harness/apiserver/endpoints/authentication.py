"""Bearer tokens, and reviews of them and of rights, which are not stored.

There is no RBAC: the user of the token may do everything.
"""

import dataclasses
import hmac

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document


@dataclasses.dataclass(frozen=True, slots=True)
class User:
    """An authenticated user, in the words of `UserInfo`."""

    name: str
    groups: tuple[str, ...]


ADMINISTRATOR = User("flake-hunt", ("system:masters", "system:authenticated"))
_EVERYTHING = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_STATUSES: dict[str, Document] = {
    "SelfSubjectReview": {
        "userInfo": {"username": ADMINISTRATOR.name, "groups": ADMINISTRATOR.groups}
    },
    "SelfSubjectRulesReview": _EVERYTHING,
    "TokenReview": {"user": {}, "error": "this server does not review tokens"},
}


class Authenticator:
    """Checks bearer tokens, in constant time."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def user(self, authorization: bytes) -> User:
        """Return the user of an `Authorization` header. Raises 401 if the token is unknown."""
        scheme, *rest = authorization.strip().split(b" ", 2)
        if scheme.lower() != b"bearer" or not rest or not hmac.compare_digest(rest[0], self._token):
            raise status_errors.unauthorized()
        return ADMINISTRATOR


def forbidden(user: User, request: request_info.Request) -> status_errors.StatusError:
    """Return 403 for a request for a resource, as if the user had no role yet."""
    message = f'forbidden: User "{user.name}" cannot {request.verb} path "{request.path}"'
    target = request.target
    details = status_errors.about(target.resource, target.name) if target else None
    return status_errors.StatusError(403, "Forbidden", message, details)


def review(resource: resources.ResourceType, document: Document) -> Document:
    """Return a review with its `status` filled in."""
    asked = document.get("spec") or {}
    is_allowed = asked.get("user", ADMINISTRATOR.name) == ADMINISTRATOR.name
    echoed = {} if resource.kind == "SelfSubjectReview" else {"spec": asked}
    return {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": document.get("metadata") or {},
        **echoed,
        "status": _STATUSES.get(resource.kind, {"allowed": is_allowed}),
    }
