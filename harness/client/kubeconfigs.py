"""Kubeconfigs: the address of the API server and the user's credentials.

Supports tokens, token files, id tokens of the auth provider `oidc`, client certificates,
certificate authorities, exec plugins, HTTP proxies and impersonation. Unsupported settings
(passwords, other auth providers and proxies) are rejected with a remedy, never ignored.

No library is used: of lightkube, kubernetes, kubernetes_asyncio, pykube-ng and kr8s, none supports
impersonation; only kubernetes and kubernetes_asyncio support `proxy-url` and exec plugins that
return certificates, and importing them takes 200 and 340 ms, in each process of a run.
"""

import base64
import dataclasses
import functools
import json
import pathlib
import re
import ssl
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness import clocks, errors, regular_files, writing
from harness.client import exec_credentials, kubeconfig_files

Headers = tuple[tuple[str, str], ...]
"""(name, value) pairs. Names may repeat: each group has its own header."""
_TOKEN = "!#$&'*+-.^_`|~"  # noqa: S105 - the characters that header names may have besides letters and digits


Document = kubeconfig_files.Document


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """An HTTP proxy. The repr omits the password."""

    host: str
    port: int
    authorization: str = dataclasses.field(default="", repr=False)
    """The value of the `Proxy-Authorization` header; empty: the proxy needs none."""

    def __str__(self) -> str:
        """Return the address without the password, for messages."""
        return f"http://{self.host}:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        return {"Proxy-Authorization": self.authorization} if self.authorization else {}


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
    proxy: Proxy | None = None
    """The proxy of all connections; None: they are direct."""
    impersonation: Headers = ()
    """The headers of each request that name the user to impersonate."""

    def __str__(self) -> str:
        way = f" through the proxy {self.proxy}" if self.proxy else ""
        return f"{self.host}:{self.port}{way}"

    @property
    def identity(self) -> exec_credentials.Credentials:
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
    return endpoint(kubeconfig_files.read(path), path, context=context)


def extract(paths: Sequence[pathlib.Path], into: pathlib.Path, *, context: str = "") -> str:
    """Write a kubeconfig with one context of some others and return the context's name.

    See `kubeconfig_files.extracted`. The file is written atomically, with mode 0600. Raises
    KubeconfigError, which names the others, for one that `load` would refuse.
    """
    document = kubeconfig_files.extracted(paths, context=context)
    endpoint(document, kubeconfig_files.joined(paths))
    kubeconfig_files.write(into, document)
    name: str = document["current-context"]
    return name


def endpoint(document: Document, path: pathlib.Path, *, context: str | None = None) -> Endpoint:
    """Return the endpoint of a kubeconfig that was read; `path` is for messages. See `load`."""
    name, cluster, user = _chosen(document, context, path)
    if user.get("username"):
        raise errors.KubeconfigError(
            f"{path}: the user of context {name!r} has a user name with a password, which no "
            "supported API server accepts: use a token or a client certificate"
        )
    url, port = _server(cluster.get("server"), name, path)
    certificate, key = _pem(user, "client-certificate", path), _pem(user, "client-key", path)
    token = _token(user, path) or _id_token(user.get("auth-provider") or {}, name, path)
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
        proxy=read_proxy(cluster.get("proxy-url"), path),
        impersonation=read_impersonation(user, path),
    )


def _chosen(
    document: Document, context: str | None, path: pathlib.Path
) -> tuple[str, Document, Document]:
    """Return a context's name, cluster and user; `context` None: the current one."""
    name = context or document.get("current-context") or ""
    kubeconfig_files.require_context(name, document, path)
    chosen = kubeconfig_files.named(document, "contexts", name, path).get("context") or {}
    cluster = (
        kubeconfig_files.named(document, "clusters", chosen.get("cluster", ""), path).get("cluster")
        or {}
    )
    if not chosen.get("user"):
        return name, cluster, {}
    user = kubeconfig_files.named(document, "users", chosen["user"], path).get("user") or {}
    return name, cluster, user


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
        return regular_files.content(file)
    except OSError as error:
        raise errors.KubeconfigError(f"{path}: {key} {file}: {error.strerror}") from error


def _token(user: Document, path: pathlib.Path) -> str:
    if token := user.get("token"):
        return str(token)
    if file := _token_file(user, path):
        return _bytes(file, "tokenFile", path).decode().strip()
    return ""


def _id_token(provider: Document, context: str, path: pathlib.Path) -> str:
    """Return the id token of the auth provider `oidc`, which nothing here renews; empty: none.

    Raises KubeconfigError for another provider, and for a token that is not valid now.
    """
    if not provider:
        return ""
    token = str((provider.get("config") or {}).get("id-token") or "")
    if provider.get("name") == "oidc" and _expiry_s(token) * 10**9 > clocks.wall_ns():
        return token
    raise errors.KubeconfigError(
        f"{path}: the user of context {context!r} has the auth-provider {provider.get('name')!r}: "
        "use an exec plugin; or, of `oidc`, an id-token that has not expired (let kubectl renew it)"
    )


def _expiry_s(token: str) -> int:
    """Return the `exp` of a JSON web token, in seconds since the epoch; 0 if it has none."""
    payload = f"{token}..".split(".")[1]
    try:
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return int(claims["exp"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return 0


def _token_file(user: Document, path: pathlib.Path) -> pathlib.Path | None:
    file = user.get("tokenFile") if not user.get("token") else None
    return path.parent / file if file else None


def _load_certificate(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    with writing.private_file(certificate + b"\n" + key) as path:
        context.load_cert_chain(path)  # the ssl module reads certificates from files only


@functools.lru_cache(maxsize=8)
def shared_context(
    endpoint: Endpoint, identity: exec_credentials.Credentials
) -> ssl.SSLContext | None:
    return endpoint.context(identity)


@functools.lru_cache(maxsize=8)
def shared_plugin(command: exec_credentials.Command) -> exec_credentials.Plugin:
    return exec_credentials.Plugin(command)


_PORT = 80
_CREDENTIALS = re.compile(r"//[^/]*@")


def read_proxy(address: object, path: pathlib.Path) -> Proxy | None:
    """Return the proxy of a URL, None if the URL is empty.

    Raises KubeconfigError if the URL is malformed or its scheme is not http.
    """
    if not address:
        return None
    try:
        url = urllib.parse.urlsplit(str(address))
        if url.scheme == "http" and url.hostname:
            port = url.port or _PORT
            return Proxy(host=url.hostname, port=port, authorization=_authorization(url))
    except ValueError:
        pass  # an invalid port or IPv6 address
    shown = _CREDENTIALS.sub("//", str(address))
    raise errors.KubeconfigError(
        f"{path}: expected the cluster's proxy-url as http://host:port, got {shown!r}: use an HTTP proxy, or forward a port to "
        "the API server and use that in a kubeconfig without proxy-url"
    )


def _authorization(url: urllib.parse.SplitResult) -> str:
    if url.username is None:
        return ""
    pair = f"{urllib.parse.unquote(url.username)}:{urllib.parse.unquote(url.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


# ------------------------------------------------------------------ impersonation


def read_impersonation(user: Mapping[str, Any], path: pathlib.Path) -> Headers:
    """Return the headers for a kubeconfig's user, none if it does not impersonate.

    Raises KubeconfigError if a value cannot be sent in a header.
    """
    try:
        headers = tuple(_impersonation_headers(user))
    except (TypeError, AttributeError) as error:
        raise errors.KubeconfigError(
            f"{path}: expected `as` and `as-uid` as text, `as-groups` as a list, and `as-user-extra` as lists by key ({error})"
        ) from error
    if headers and not user.get("as"):
        raise errors.KubeconfigError(f"{path}: expected a user to impersonate (`as`), got none")
    for name, value in headers:
        if not value.isprintable():
            raise errors.KubeconfigError(
                f"{path}: expected printable text to impersonate, got {value!r} for {name}"
            )
    return headers


def _impersonation_headers(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    named = {"Impersonate-User": user.get("as"), "Impersonate-Uid": user.get("as-uid")}
    yield from ((name, _text(value)) for name, value in named.items() if value)
    yield from (("Impersonate-Group", group) for group in _texts(user.get("as-groups")))
    for key, values in (user.get("as-user-extra") or {}).items():
        for value in _texts(values):
            yield f"Impersonate-Extra-{urllib.parse.quote(_text(key), safe=_TOKEN)}", value


def _texts(values: object) -> list[str]:
    if not isinstance(values, list | None):
        raise TypeError(f"got {values!r}")
    return [_text(value) for value in values or ()]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"got {value!r}")
    return value
