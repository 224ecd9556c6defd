"""Reading a kubeconfig: where the API server is, and who we are to it.

Tokens, token files, client certificates and authorities; exec plugins are refused with a word on what to do.
"""

import base64
import dataclasses
import functools
import json
import pathlib
import ssl
import tempfile
import urllib.parse
from collections.abc import Mapping
from typing import Any

from harness import errors

Document = Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An API server and our credentials for it. The repr keeps the secrets to itself."""

    host: str
    port: int
    tls: bool
    prefix: str = ""
    """A path before every request's path, without a trailing slash."""
    token: str = dataclasses.field(default="", repr=False)
    authority: bytes = dataclasses.field(default=b"", repr=False)
    """PEM of the cluster's authority; empty: the system's."""
    certificate: bytes = dataclasses.field(default=b"", repr=False)
    key: bytes = dataclasses.field(default=b"", repr=False)
    insecure: bool = False
    """Do not verify the server's certificate."""

    def context(self) -> ssl.SSLContext | None:
        """The TLS context, None for plain HTTP. Make one and share it: it costs milliseconds."""
        if not self.tls:
            return None
        try:
            context = ssl.create_default_context(cadata=self.authority.decode() or None)
            if self.certificate:
                _load_certificate(context, self.certificate, self.key)
        except (ssl.SSLError, ValueError) as error:
            raise errors.KubeconfigError(
                f"expected the kubeconfig of {self.host}:{self.port} to hold certificates and keys in PEM ({error})"
            ) from error
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def load(path: pathlib.Path, *, context: str | None = None) -> Endpoint:
    """The endpoint of a kubeconfig's context (the current one when None)."""
    document = _read(path)
    name = context or document.get("current-context") or ""
    chosen = _named(document, "contexts", name, path).get("context") or {}
    cluster = _named(document, "clusters", chosen.get("cluster", ""), path).get("cluster") or {}
    user = _named(document, "users", chosen.get("user", ""), path).get("user") or {}
    url, port = _server(cluster.get("server"), name, path)
    certificate, key = _pem(user, "client-certificate", path), _pem(user, "client-key", path)
    return Endpoint(
        host=url.hostname or "",
        port=port,
        tls=url.scheme == "https",
        prefix=url.path.rstrip("/"),
        token=_token(user, path),
        authority=_pem(cluster, "certificate-authority", path),
        certificate=certificate,
        key=key,
        insecure=bool(cluster.get("insecure-skip-tls-verify", False)),
    )


def _server(
    address: object, context: str, path: pathlib.Path
) -> tuple[urllib.parse.SplitResult, int]:
    try:
        url = urllib.parse.urlsplit(address if isinstance(address, str) else "")
        if url.scheme in ("http", "https") and url.hostname:
            return url, url.port or (443 if url.scheme == "https" else 80)
    except ValueError:
        pass  # a port or an IPv6 address that is none
    raise errors.KubeconfigError(
        f"{path}: expected the server of context {context!r} as an http(s) URL, got {address!r}"
    )


def _read(path: pathlib.Path) -> Document:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise errors.KubeconfigError(
            f"expected a readable kubeconfig, but {path}: {why}. Name another one with --kubeconfig"
        ) from error
    document = _parse(text, path)
    if not isinstance(document, dict) or document.get("kind", "Config") != "Config":
        raise errors.KubeconfigError(
            f"{path}: expected a kubeconfig (kind Config), got something else"
        )
    return document


def _parse(text: str, path: pathlib.Path) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    import yaml  # 40 ms, and our own kubeconfigs are JSON

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise errors.KubeconfigError(f"{path}: expected YAML or JSON ({error})") from error


def _named(document: Document, section: str, name: str, path: pathlib.Path) -> Document:
    entries = document.get(section) or []
    for entry in entries:
        if isinstance(entry, dict) and entry.get("name") == name:
            return entry
    known = ", ".join(str(entry.get("name")) for entry in entries if isinstance(entry, dict))
    raise errors.KubeconfigError(
        f"{path}: expected {name!r} among its {section}, which are: {known or 'none'}"
    )


def _pem(section: Document, key: str, path: pathlib.Path) -> bytes:
    if data := section.get(f"{key}-data"):
        try:
            return base64.b64decode(data, validate=True)
        except ValueError as error:
            raise errors.KubeconfigError(f"{path}: {key}-data is not base64") from error
    if file := section.get(key):
        return _bytes(path.parent / file, key, path)
    return b""


def _bytes(file: pathlib.Path, key: str, path: pathlib.Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise errors.KubeconfigError(f"{path}: {key} {file}: {error.strerror}") from error


def _token(user: Document, path: pathlib.Path) -> str:
    if token := user.get("token"):
        return str(token)
    if file := user.get("tokenFile"):
        return _bytes(path.parent / file, "tokenFile", path).decode().strip()
    if user.get("exec"):
        raise errors.KubeconfigError(
            f"{path}: expected a token or a client certificate, got an exec plugin, which is not supported: "
            "write its token into a kubeconfig of its own (`kubectl create token …`)"
        )
    return ""


def _load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:  # ssl loads from files only; mode 0600
        file.write(certificate + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name)


@functools.lru_cache(maxsize=8)
def shared_context(endpoint: Endpoint) -> ssl.SSLContext | None:
    """One TLS context for all connections to an endpoint."""
    return endpoint.context()
