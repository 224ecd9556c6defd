"""Bearer-token authentication, and the permissions of the server's two users."""

import dataclasses
import hmac

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors


@dataclasses.dataclass(frozen=True, slots=True)
class User:
    """An authenticated user, in the words of `UserInfo`."""

    name: str
    groups: tuple[str, ...]
    may_write: bool
    """True if all verbs are allowed, false if only those that read."""


ADMINISTRATOR = User("flake-hunt", ("system:masters", "system:authenticated"), may_write=True)
READER = User("flake-hunt-reader", ("system:authenticated",), may_write=False)


class Authenticator:
    """Checks bearer tokens, in constant time."""

    def __init__(self, token: str, read_only_token: str = "") -> None:
        self._tokens = [(token.encode(), ADMINISTRATOR)]
        if read_only_token:
            self._tokens.append((read_only_token.encode(), READER))

    def user(self, authorization: bytes) -> User:
        """Return the user of an `Authorization` header. Raises 401 if the token is unknown."""
        authenticated = None
        scheme, *rest = authorization.strip().split(b" ", 2)
        for token, user in self._tokens if scheme.lower() == b"bearer" and rest else ():
            if hmac.compare_digest(rest[0], token):
                authenticated = user
        if authenticated is None:
            raise status_errors.unauthorized()
        return authenticated


def require_permission(user: User, asked: request_info.Attributes) -> None:
    """Raise 403 if the user may only read and the request writes."""
    if not user.may_write and not asked.is_read:
        raise forbidden(user, asked)


def forbidden(user: User, asked: request_info.Attributes) -> status_errors.StatusError:
    """Return 403 in the words of Kubernetes' RBAC authorizer."""
    target = asked.target
    if target is None:
        message = f'forbidden: User "{user.name}" cannot {asked.verb} path "{asked.path}"'
        return status_errors.StatusError(403, "Forbidden", message)
    resource = target.resource
    what = f"{resource.plural}/{target.subresource}" if target.subresource else resource.plural
    where = (
        f' in the namespace "{target.namespace}"' if target.namespace else " at the cluster scope"
    )
    name = f' "{target.name}"' if target.name else ""
    message = (
        f"{resource.qualified}{name} is forbidden: "
        f'User "{user.name}" cannot {asked.verb} resource "{what}" '
        f'in API group "{resource.group}"{where}'
    )
    return status_errors.StatusError(
        403, "Forbidden", message, status_errors.about(resource, target.name)
    )
