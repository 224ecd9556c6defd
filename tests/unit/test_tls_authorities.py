"""Certificates that the strictest of clients accepts: Python's own since 3.13, which asks for all
of RFC 5280.
"""

import contextlib
import pathlib
import socket
import ssl
import threading

import pytest

from harness import tls_authorities
from harness.apiserver.server import identities


@pytest.fixture
def authority() -> tls_authorities.Authority:
    return tls_authorities.Authority("somebody", days=2)


def strict(authority: bytes) -> ssl.SSLContext:
    """The `ssl.create_default_context` of Python 3.13, on every version."""
    context = ssl.create_default_context(cadata=authority.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def meet(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> str:
    """The subject's common name that the client has accepted."""
    ours, theirs = socket.socketpair()
    ours.settimeout(20)
    theirs.settimeout(20)

    def serve() -> None:
        with (
            theirs,
            contextlib.suppress(ssl.SSLError),
            server.wrap_socket(theirs, server_side=True) as connection,
        ):
            connection.recv(1)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with ours, client.wrap_socket(ours, server_hostname=name) as connection:
            shown = connection.getpeercert() or {}
            connection.send(b".")
            return dict(part[0] for part in shown["subject"])["commonName"]
    finally:
        thread.join()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
def test_the_embedded_server_s_certificate_is_accepted_by_a_strict_client(name: str) -> None:
    identity = identities.make_certificate("127.0.0.1")
    assert meet(identity.context(), strict(identity.authority), name) == "flake-hunt-apiserver"


def test_a_server_and_a_client_of_one_authority_accept_each_other(
    tmp_path: pathlib.Path, authority: tls_authorities.Authority
) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = authority.server("kube-apiserver", ["kubernetes.default", "10.0.0.1"])
    server.load_cert_chain(*tls_authorities.write(tmp_path, "server", pair))
    server.load_verify_locations(cadata=authority.certificate.decode())
    server.verify_mode = ssl.CERT_REQUIRED
    server.verify_flags |= ssl.VERIFY_X509_STRICT
    client = strict(authority.certificate)
    client.load_cert_chain(
        *tls_authorities.write(tmp_path, "client", authority.client("me", "system:masters"))
    )
    assert meet(server, client, "10.0.0.1") == "kube-apiserver"
    assert (tmp_path / "client.key").stat().st_mode & 0o777 == 0o600


def test_another_authority_is_not_believed(
    tmp_path: pathlib.Path, authority: tls_authorities.Authority
) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = tls_authorities.Authority("somebody", days=2).server("kube-apiserver", ["localhost"])
    server.load_cert_chain(*tls_authorities.write(tmp_path, "server", pair))
    reason = r"signature failure|unable to get local"
    with pytest.raises(ssl.SSLCertVerificationError, match=reason):
        meet(server, strict(authority.certificate), "localhost")


def test_a_key_is_not_in_the_repr(authority: tls_authorities.Authority) -> None:
    pair = authority.client("me", "group")
    assert b"PRIVATE KEY" in pair.key
    assert "PRIVATE KEY" not in repr(pair)
