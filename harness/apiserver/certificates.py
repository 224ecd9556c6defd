"""A certificate authority for one server and one run, made in memory; its keys are on disk in a data directory only."""

import dataclasses
import datetime
import ipaddress
import socket
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from harness import private_files

_DAYS = 365
_SKEW = datetime.timedelta(minutes=5)


@dataclasses.dataclass(frozen=True, slots=True)
class Identity:
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


def make(host: str) -> Identity:
    """A fresh authority and a certificate of it for this address."""
    authority_key, key = _key(), _key()
    name = _name("flake-hunt-ca")
    authority = (
        _builder(name, name, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    names = x509.SubjectAlternativeName([_address(name) for name in _names(host)])
    certificate = (
        _builder(_name("flake-hunt-apiserver"), name, key.public_key())
        .add_extension(names, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return Identity(
        authority=authority.public_bytes(pem),
        certificate=certificate.public_bytes(pem),
        key=key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    )


def _names(host: str) -> list[str]:
    """What the server may be called; at an address that stands for all, also the machine's own name."""
    every = ipaddress.ip_address(host).is_unspecified
    own = [socket.gethostname(), socket.getfqdn()] if every else [host]
    return list(dict.fromkeys(["localhost", "127.0.0.1", "::1", *own]))


def _key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _address(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + datetime.timedelta(days=_DAYS))
    )
