"""A kubeconfig for each client of a run, by which a carrier of faults tells them apart.

It impersonates the user `flake-hunt:<client>`, so that client-go, kubectl and our own transports
name the client in the header `Impersonate-User` of each request. The embedded API server takes
nothing but that name from the header. A real API server would make the client that user, without
the rights of the administrator: use these kubeconfigs with the embedded one only.
"""

import pathlib
from typing import Any

from harness import errors
from harness.client import kubeconfig_files
from harness.faults import api_calls


def write(source: pathlib.Path, *, client: str) -> pathlib.Path:
    """Write the kubeconfig of a client beside a cluster's and return its path.

    It has the current context of `source`, and mode 0600; an embedded cluster removes it with its
    own ones. Raises KubeconfigError if `source` is malformed or impersonates a user already,
    OSError if the file cannot be written.
    """
    path = source.with_name(f"{source.name}-{client}")
    document = kubeconfig_files.extracted([source])
    user = _user(document)
    if user.get("as"):
        raise errors.KubeconfigError(
            f"{source}: expected a user that impersonates no other one, so that requests can name "
            f"the client {client!r}, got `as: {user['as']}`: remove it"
        )
    user["as"] = api_calls.user_of(client)
    kubeconfig_files.write(path, document)
    return path


def _user(document: dict[str, Any]) -> dict[str, Any]:
    """Return the user of the only context, added to the document if there is none."""
    if not document["users"]:
        document["users"] = [{"name": "client", "user": {}}]
        document["contexts"][0]["context"]["user"] = "client"
    user: dict[str, Any] = document["users"][0].setdefault("user", {})
    return user
