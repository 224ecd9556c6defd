"""Who asks: the bearer of one of the server's tokens, or nobody."""

import dataclasses
import hmac

from harness.apiserver.endpoints import request_attributes
from harness.apiserver.errors import status_errors


@dataclasses.dataclass(frozen=True, slots=True)
class User:
    """Somebody who is let in."""

    name: str
    groups: tuple[str, ...]
    may_write: bool


ADMINISTRATOR = User("flake-hunt", ("system:masters", "system:authenticated"), may_write=True)
READER = User("flake-hunt-reader", ("system:authenticated",), may_write=False)


class Authenticator:
    """Knows the tokens; comparing them takes the same time whatever is wrong."""

    def __init__(self, token: str, read_only_token: str = "") -> None:
        self._bearers = [(f"Bearer {token}".encode(), ADMINISTRATOR)]
        if read_only_token:
            self._bearers.append((f"Bearer {read_only_token}".encode(), READER))

    def user(self, authorization: bytes) -> User:
        """Whose Authorization header this is; 401 when it is nobody's."""
        found = None
        for bearer, user in self._bearers:
            if hmac.compare_digest(authorization, bearer):
                found = user
        if found is None:
            raise status_errors.unauthorized()
        return found


def require_permission(user: User, asked: request_attributes.Attributes) -> None:
    """403 for a reader who writes."""
    if not user.may_write and not asked.is_read:
        raise _forbidden(user, asked)


def _forbidden(user: User, asked: request_attributes.Attributes) -> status_errors.StatusError:
    """As Kubernetes' RBAC says it."""
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
        f'User "{user.name}" cannot {asked.verb} resource "{what}" in API group "{resource.group}"{where}'
    )
    return status_errors.StatusError(
        403, "Forbidden", message, status_errors.about(resource, target.name)
    )
