"""Tokens, certificates and ports of a server, kept so that its kubeconfigs survive a restart."""

import base64
import ipaddress
import json
import pathlib
import secrets
import socket
import ssl

import msgspec

from harness import errors, listening, tls_authorities, writing

_FILE = "identity.json"
_CERTIFICATE_DAYS = 365
"""Validity of a new certificate in days."""


class ServingCertificate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A server certificate, its key, and the certificate of its authority, all PEM."""

    authority: bytes
    certificate: bytes
    key: bytes

    def context(self) -> ssl.SSLContext:
        return listening.tls_context(tls_authorities.Pair(self.certificate, self.key))


class ServerIdentity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state that survives a restart."""

    host: str
    token: str
    certificates: ServingCertificate
    port: int = 0
    tls_port: int = 0
    """The ports of the last run; 0 before the first run."""


def make(host: str, *, token: str = "") -> ServerIdentity:
    """Return a new identity for this address, with a new token unless one is given."""
    token = token or secrets.token_urlsafe(32)
    return ServerIdentity(host=host, token=token, certificates=make_certificate(host))


def load(directory: pathlib.Path) -> ServerIdentity | None:
    """Read the identity in a data directory; None if there is none. Raises DataDirectoryError."""
    path = directory / _FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=ServerIdentity)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.DataDirectoryError(
            f"expected the tokens and certificates of the server in {path}, but: {error}. "
            "Restore the file, or remove it to get new kubeconfigs"
        ) from error


def save(directory: pathlib.Path, identity: ServerIdentity) -> None:
    """Write the identity to a data directory, whole or not at all, with mode 0600.

    Raises StorageError or UnwritableError.
    """
    path = directory / _FILE
    with writing.explained(path):
        writing.write_whole(path, msgspec.json.encode(identity), mode=writing.PRIVATE)


# ------------------------------------------------------------------ certificates


def make_certificate(host: str) -> ServingCertificate:
    """Return a certificate for this address, signed by a new authority."""
    authority = tls_authorities.Authority("flake-hunt-ca", days=_CERTIFICATE_DAYS)
    server = authority.server("flake-hunt-apiserver", _names(host))
    return ServingCertificate(authority.certificate, server.certificate, server.key)


def _names(host: str) -> list[str]:
    """Return the names for the certificate; for 0.0.0.0 or :: also the machine's host names."""
    every = ipaddress.ip_address(host).is_unspecified
    own = [socket.gethostname(), socket.getfqdn()] if every else [host]
    return list(dict.fromkeys(["localhost", "127.0.0.1", "::1", *own]))


def write(path: pathlib.Path, address: str, token: str, *, authority: bytes = b"") -> None:
    """Write a kubeconfig for an address, whole or not at all: by TLS if there is an authority.

    Raises StorageError or UnwritableError.
    """
    cluster = {"server": f"http://{address}"}
    if authority:
        encoded = base64.b64encode(authority).decode()
        cluster = {"server": f"https://{address}", "certificate-authority-data": encoded}
    context = {"cluster": "flake-hunt", "user": "flake-hunt"}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "flake-hunt", "cluster": cluster}],
        "users": [{"name": "flake-hunt", "user": {"token": token}}],
        "contexts": [{"name": "flake-hunt", "context": context}],
        "current-context": "flake-hunt",
    }
    with writing.explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        content = f"{json.dumps(document, indent=2)}\n".encode()
        writing.write_whole(path, content, mode=writing.PRIVATE)
