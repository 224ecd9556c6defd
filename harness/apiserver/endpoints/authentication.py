"""Bearer-token authentication; who has the token may do everything."""

import dataclasses
import hmac

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors


@dataclasses.dataclass(frozen=True, slots=True)
class User:
    """An authenticated user, in the words of `UserInfo`."""

    name: str
    groups: tuple[str, ...]


ADMINISTRATOR = User("flake-hunt", ("system:masters", "system:authenticated"))


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


def forbidden(user: User, asked: request_info.Attributes) -> status_errors.StatusError:
    """Return 403 for a request for a resource, as if the user had no role yet."""
    message = f'forbidden: User "{user.name}" cannot {asked.verb} path "{asked.path}"'
    target = asked.target
    details = status_errors.about(target.resource, target.name) if target else None
    return status_errors.StatusError(403, "Forbidden", message, details)
