"""Kubeconfigs: the address of the API server and the user's credentials.

Supports tokens, token files, client certificates, certificate authorities, exec plugins, HTTP
proxies and impersonation. Unsupported settings (passwords, auth providers, other proxies) are
rejected with a remedy, never ignored.

No library is used: of lightkube, kubernetes, kubernetes_asyncio, pykube-ng and kr8s, none supports
impersonation; only kubernetes and kubernetes_asyncio support `proxy-url` and exec plugins that
return certificates, and importing them takes 200 and 340 ms, in each process of a run.
"""

import base64
import dataclasses
import functools
import json
import os
import pathlib
import ssl
import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

from harness import errors, private_files
from harness.client import exec_credentials, impersonations, proxies

Document = Mapping[str, Any]
_REFUSED_USER = {
    "username": "a user name with a password, which no supported API server accepts: use a token or a client certificate",
    "auth-provider": "an auth-provider, which client-go has removed: use an exec plugin",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The address of an API server and the credentials for it. The repr omits the secrets."""

    host: str
    port: int
    tls: bool
    prefix: str = ""
    """The path that precedes each request's path, without a trailing slash."""
    token: str = dataclasses.field(default="", repr=False)
    token_file: pathlib.Path | None = None
    """The file that `token` was read from; it may change. None: the token is in the kubeconfig."""
    authority: bytes = dataclasses.field(default=b"", repr=False)
    """The cluster's certificate authority in PEM; empty: those of the system."""
    certificate: bytes = dataclasses.field(default=b"", repr=False)
    key: bytes = dataclasses.field(default=b"", repr=False)
    insecure: bool = False
    """Do not verify the server's certificate."""
    server_name: str = ""
    """The name to verify in the server's certificate; empty: `host`."""
    plugin: exec_credentials.Command | None = None
    """The exec plugin that provides the credentials; None: they are in the kubeconfig."""
    proxy: proxies.Proxy | None = None
    """The proxy of all connections; None: they are direct."""
    impersonation: impersonations.Headers = ()
    """The headers of each request that name the user to impersonate."""

    def __str__(self) -> str:
        """Return the address and the proxy, for messages."""
        way = f" through the proxy {self.proxy}" if self.proxy else ""
        return f"{self.host}:{self.port}{way}"

    @property
    def identity(self) -> exec_credentials.Credentials:
        """The credentials in the kubeconfig itself."""
        return exec_credentials.Credentials(self.token, self.certificate, self.key)

    def context(
        self, identity: exec_credentials.Credentials | None = None
    ) -> ssl.SSLContext | None:
        """Return a new TLS context, None for plain HTTP. It takes milliseconds: share it.

        `identity` None: the credentials in the kubeconfig. Raises KubeconfigError if a certificate
        or key is malformed.
        """
        if not self.tls:
            return None
        credentials = self.identity if identity is None else identity
        try:
            context = ssl.create_default_context(cadata=self.authority.decode() or None)
            if credentials.certificate:
                _load_certificate(context, credentials.certificate, credentials.key)
        except (ssl.SSLError, ValueError) as error:
            raise errors.KubeconfigError(
                f"expected the kubeconfig of {self.host}:{self.port} to have certificates and keys in PEM ({error})"
            ) from error
        # Python 3.13 enforces RFC 5280 by default; Go does not, and clusters' authorities may
        # satisfy Go only.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def load(path: pathlib.Path, *, context: str | None = None) -> Endpoint:
    """Return the endpoint of a kubeconfig's context; `context` None: the current one.

    Raises KubeconfigError if the file is malformed or needs something that is not supported.
    """
    document = _read(path)
    name, cluster, user = _chosen(document, context, path)
    _refuse(user, name, path)
    url, port = _server(cluster.get("server"), name, path)
    certificate, key = _pem(user, "client-certificate", path), _pem(user, "client-key", path)
    token = _token(user, path)
    command = user.get("exec") if not (token or certificate) else None
    return Endpoint(
        host=url.hostname or "",
        port=port,
        tls=url.scheme == "https",
        prefix=url.path.rstrip("/"),
        token=token,
        token_file=_token_file(user, path),
        authority=_pem(cluster, "certificate-authority", path),
        certificate=certificate,
        key=key,
        insecure=bool(cluster.get("insecure-skip-tls-verify", False)),
        server_name=str(cluster.get("tls-server-name") or ""),
        plugin=exec_credentials.read(command, cluster, path) if command else None,
        proxy=proxies.read(cluster.get("proxy-url"), path),
        impersonation=impersonations.read(user, path),
    )


def default_paths() -> list[pathlib.Path]:
    """Return the files that kubectl reads: those in KUBECONFIG, or else ~/.kube/config.

    Files that do not exist are omitted, unless none exists.
    """
    named = [part for part in os.environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    paths = [pathlib.Path(part) for part in named] or [pathlib.Path.home() / ".kube" / "config"]
    existing = [path for path in paths if path.exists()]
    return existing or paths[:1]


def extract(paths: Sequence[pathlib.Path], into: pathlib.Path, *, context: str = "") -> str:
    """Write a kubeconfig with one context of some others and return the context's name.

    See `extracted`. The file is written atomically, with mode 0600.
    """
    document = extracted(paths, context=context)
    write(into, document)
    name: str = document["current-context"]
    return name


def extracted(paths: Sequence[pathlib.Path], *, context: str = "") -> dict[str, Any]:
    """Return a kubeconfig with one context of some others; its paths are absolute.

    `context` empty: the current one. If several files define a name, the first one wins, as in
    kubectl.
    """
    documents = [(path, _read(path)) for path in paths]
    name = context or next(
        (str(item["current-context"]) for _, item in documents if item.get("current-context")), ""
    )
    merged = {
        section: [
            _absolute(entry, path) for path, item in documents for entry in item.get(section) or []
        ]
        for section in ("contexts", "clusters", "users")
    }
    where = paths[0] if len(paths) == 1 else pathlib.Path(os.pathsep.join(map(str, paths)))
    chosen = _named(merged, "contexts", name, where)
    inner = chosen.get("context") or {}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "contexts": [chosen],
        "clusters": [_named(merged, "clusters", inner.get("cluster", ""), where)],
        "users": [_named(merged, "users", inner["user"], where)] if inner.get("user") else [],
    }


def write(path: pathlib.Path, document: Document) -> None:
    """Write a kubeconfig as JSON, which is valid YAML, atomically and with mode 0600.

    Raises OSError, and leaves no credentials behind, if the file cannot be written.
    """
    private_files.write(path, json.dumps(document, indent=2).encode())


def _absolute(entry: Any, path: pathlib.Path) -> Any:
    """Return an entry with its relative paths made absolute."""
    if not isinstance(entry, dict):
        return entry
    changed: dict[str, Any] = json.loads(json.dumps(entry, default=str))
    folder = path.resolve().parent
    for kind, keys in (
        ("cluster", ("certificate-authority",)),
        ("user", ("client-certificate", "client-key", "tokenFile")),
    ):
        section = changed.get(kind)
        if not isinstance(section, dict):
            continue
        for key in keys:
            if section.get(key):
                section[key] = str(folder / section[key])
        command = (section.get("exec") or {}).get("command") or ""
        if "/" in command:
            section["exec"]["command"] = str(folder / command)
    return changed


def _chosen(
    document: Document, context: str | None, path: pathlib.Path
) -> tuple[str, Document, Document]:
    """Return a context's name, cluster and user; `context` None: the current one."""
    name = context or document.get("current-context") or ""
    chosen = _named(document, "contexts", name, path).get("context") or {}
    cluster = _named(document, "clusters", chosen.get("cluster", ""), path).get("cluster") or {}
    if not chosen.get("user"):
        return name, cluster, {}
    user = _named(document, "users", chosen["user"], path).get("user") or {}
    return name, cluster, user


def _refuse(user: Document, name: str, path: pathlib.Path) -> None:
    for key, what in _REFUSED_USER.items():
        if user.get(key):
            raise errors.KubeconfigError(
                f"{path}: the user of context {name!r} has {what} (key {key!r})"
            )


def _server(
    address: object, context: str, path: pathlib.Path
) -> tuple[urllib.parse.SplitResult, int]:
    try:
        url = urllib.parse.urlsplit(address if isinstance(address, str) else "")
        if url.scheme in ("http", "https") and url.hostname:
            return url, url.port or (443 if url.scheme == "https" else 80)
    except ValueError:
        pass  # an invalid port or IPv6 address
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
            f"{path}: expected a kubeconfig (kind Config), got another document"
        )
    return document


def _parse(text: str, path: pathlib.Path) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    import yaml  # takes 40 ms, and the harness writes its own kubeconfigs as JSON

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
    if file := _token_file(user, path):
        return _bytes(file, "tokenFile", path).decode().strip()
    return ""


def _token_file(user: Document, path: pathlib.Path) -> pathlib.Path | None:
    file = user.get("tokenFile") if not user.get("token") else None
    return path.parent / file if file else None


def _load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    with private_files.private_file(certificate + b"\n" + key) as path:
        context.load_cert_chain(path)  # the ssl module reads certificates from files only


@functools.lru_cache(maxsize=8)
def shared_context(
    endpoint: Endpoint, identity: exec_credentials.Credentials
) -> ssl.SSLContext | None:
    """Return the TLS context that all connections with the same endpoint and credentials share."""
    return endpoint.context(identity)


@functools.lru_cache(maxsize=8)
def shared_plugin(command: exec_credentials.Command) -> exec_credentials.Plugin:
    """Return the plugin that all transports with the same command share."""
    return exec_credentials.Plugin(command)
