"""The kubeconfigs that a server writes: JSON, which is also YAML, with mode 0600."""

import base64
import json
import pathlib

from harness import private_files, writing


def secure_cluster(address: str, authority: bytes) -> dict[str, str]:
    """Return the `cluster` of a kubeconfig for a TLS address; `authority` is PEM."""
    return {
        "server": f"https://{address}",
        "certificate-authority-data": base64.b64encode(authority).decode(),
    }


def plain_cluster(address: str) -> dict[str, str]:
    """Return the `cluster` of a kubeconfig for a plain HTTP address."""
    return {"server": f"http://{address}"}


def write(path: pathlib.Path, cluster: dict[str, str], token: str) -> None:
    """Write a kubeconfig with one cluster and one user, whole or not at all.

    Raises StorageError or UnwritableError.
    """
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "flake-hunt", "cluster": cluster}],
        "users": [{"name": "flake-hunt", "user": {"token": token}}],
        "contexts": [
            {"name": "flake-hunt", "context": {"cluster": "flake-hunt", "user": "flake-hunt"}}
        ],
        "current-context": "flake-hunt",
    }
    with writing.explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        private_files.write(path, f"{json.dumps(document, indent=2)}\n".encode())
