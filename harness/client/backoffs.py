"""When to try again: waits that grow while the API server is away or overloaded."""

from harness import errors
from harness.client import apis, transports

_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
"""Status codes of an API server that is overloaded, starting or stopping."""
SHORT_S = 1.0
"""A watch that lasted longer was a success."""
_BY_AUTHORIZER = ('User "', "cannot")
"""Words of a 403 of the authorizer; admission has others."""


def is_transient(error: errors.HarnessError) -> bool:
    """Return whether the same call may succeed later: no whole response, 429, or 5xx.

    Or 403 of the authorizer: after its start kube-apiserver answers so to everyone until it has
    read the roles (kubernetes#121635).
    """
    if isinstance(error, apis.ApiError):
        is_by_authorizer = all(word in error.message for word in _BY_AUTHORIZER)
        return error.code in _TRANSIENT or (error.is_forbidden and is_by_authorizer)
    return isinstance(error, transports.TransportError)


class Backoff:
    """Waits that double with each failure in a row."""

    def __init__(self, *, first_s: float, max_s: float) -> None:
        self._first_s, self._max_s = first_s, max_s
        self._next_s = first_s

    def next_s(self) -> float:
        wait_s, self._next_s = self._next_s, min(self._next_s * 2, self._max_s)
        return wait_s

    def reset(self) -> None:
        self._next_s = self._first_s

    def after_watch(self, *, lasted_s: float, received: int, failed: bool) -> float:
        """Return the seconds to wait after a watch, 0 for none.

        A watch that delivered no line and ended at once counts as a failure, whatever ended it: a
        server that is shutting down accepts watches and closes them. `failed`: it ended with an
        error or was not opened.
        """
        if received or lasted_s >= SHORT_S:
            self.reset()
            return self.next_s() if failed else 0.0
        return self.next_s()
