"""Who a server is, kept so that kubeconfigs go on working after a restart: tokens, certificates, ports."""

import pathlib
import secrets

import msgspec

from harness import errors, private_files, writing
from harness.apiserver.persistence import data_directories
from harness.apiserver.server import serving_certificates


class ServerIdentity(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What must not change; keys and certificates are PEM."""

    host: str
    token: str
    read_only_token: str
    authority: bytes
    certificate: bytes
    key: bytes
    port: int = 0
    tls_port: int = 0
    """The ports of last time; 0 before the first."""

    @property
    def certificates(self) -> serving_certificates.ServingCertificate:
        """The certificates in the form that listeners want."""
        return serving_certificates.ServingCertificate(self.authority, self.certificate, self.key)


def make(host: str) -> ServerIdentity:
    """A new identity for this address."""
    made = serving_certificates.make(host)
    return ServerIdentity(
        host=host,
        token=secrets.token_urlsafe(32),
        read_only_token=secrets.token_urlsafe(32),
        authority=made.authority,
        certificate=made.certificate,
        key=made.key,
    )


def move(identity: ServerIdentity, host: str) -> ServerIdentity:
    """The same tokens at another address, where the certificates have to be others."""
    moved = make(host)
    return msgspec.structs.replace(
        moved, token=identity.token, read_only_token=identity.read_only_token
    )


def load(directory: pathlib.Path) -> ServerIdentity | None:
    """The identity that was kept, None when there is none; DataDirectoryError when it cannot be read."""
    path = directory / data_directories.IDENTITY
    try:
        return msgspec.json.decode(path.read_bytes(), type=ServerIdentity)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise errors.DataDirectoryError(
            f"expected the tokens and certificates of the server in {path}, but: {error}. Restore the file, or "
            "remove it and have new kubeconfigs written"
        ) from error


def save(directory: pathlib.Path, identity: ServerIdentity) -> None:
    """Keep an identity: whole or not at all, with mode 0600."""
    path = directory / data_directories.IDENTITY
    with writing.explained(path):
        private_files.write(path, msgspec.json.encode(identity), is_durable=True)
