"""What an API server shows to those who connect; its keys are on disk in a data directory only."""

import dataclasses
import ipaddress
import socket
import ssl

from harness import private_files, tls_authorities

_DAYS = 365


@dataclasses.dataclass(frozen=True, slots=True)
class ServingCertificate:
    """A server's certificate with its key, and the authority that vouches for it, all PEM."""

    authority: bytes
    certificate: bytes
    key: bytes

    def context(self) -> ssl.SSLContext:
        """The server side's TLS context."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with private_files.private_file(self.certificate + b"\n" + self.key) as path:
            context.load_cert_chain(path)  # from files only
        return context


def make(host: str) -> ServingCertificate:
    """A fresh authority and a certificate of it for this address."""
    authority = tls_authorities.Authority("flake-hunt-ca", days=_DAYS)
    server = authority.server("flake-hunt-apiserver", _names(host))
    return ServingCertificate(authority.certificate, server.certificate, server.key)


def _names(host: str) -> list[str]:
    """What the server may be called; at an address that stands for all, also the machine's own name."""
    every = ipaddress.ip_address(host).is_unspecified
    own = [socket.gethostname(), socket.getfqdn()] if every else [host]
    return list(dict.fromkeys(["localhost", "127.0.0.1", "::1", *own]))
