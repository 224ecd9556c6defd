"""Certificate authorities, one for each server, and the certificates that they sign.

Certificates have the extensions that RFC 5280 requires, key identifiers and key usages included:
Go's verifier accepts certificates without them, Python 3.13 and newer do not. The library trustme
does not fit: its authorities are valid until the year 3000, each of its certificates allows server
authentication, client authentication and code signing, Go rejects those without host names, and
it rejects host names with an underscore.
"""

import dataclasses
import datetime
import inspect
import ipaddress
import os
import pathlib
from collections.abc import Iterable

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_SKEW = datetime.timedelta(minutes=5)
_MODE = 0o600


@dataclasses.dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its private key, PEM. The repr does not show the key."""

    certificate: bytes
    key: bytes = dataclasses.field(repr=False)


class Authority:
    """A certificate authority; its private key is never written to disk."""

    def __init__(self, name: str, *, days: int) -> None:
        """`name` is its common name; `days` the validity of its own and all signed certificates."""
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name, self._days = _name(name), days
        certificate = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage("key_cert_sign", "crl_sign"), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate = certificate.public_bytes(serialization.Encoding.PEM)

    def server(self, name: str, addresses: Iterable[str]) -> Pair:
        """Return a server certificate for these host names and IP addresses."""
        names = x509.SubjectAlternativeName([_address(item) for item in addresses])
        return self._pair(_name(name), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, user: str, group: str) -> Pair:
        """Return a client certificate; Kubernetes reads user and group from its subject."""
        return self._pair(_name(user, group), ExtendedKeyUsageOID.CLIENT_AUTH)

    def _pair(
        self,
        subject: x509.Name,
        purpose: x509.ObjectIdentifier,
        names: x509.SubjectAlternativeName | None = None,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            self._builder(subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage("digital_signature"), critical=True)
            .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        )
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Pair(certificate.public_bytes(serialization.Encoding.PEM), _private(key))

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - _SKEW)
            .not_valid_after(now + datetime.timedelta(days=self._days))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(issuer_key, critical=False)
        )


def signing_keys() -> Pair:
    """Return the key pair for service account tokens; `certificate` is the bare public key."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return Pair(public, _private(key))


def write(folder: pathlib.Path, name: str, pair: Pair) -> tuple[pathlib.Path, pathlib.Path]:
    """Write `<name>.crt` and `<name>.key` (mode 0600) and return their paths."""
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    certificate.write_bytes(pair.certificate)
    with os.fdopen(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE), "wb") as file:
        file.write(pair.key)
    return certificate, key


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _name(common: str, organization: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organization:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _address(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*allowed: str) -> x509.KeyUsage:
    names = inspect.signature(x509.KeyUsage).parameters
    return x509.KeyUsage(**{name: name in allowed for name in names})
