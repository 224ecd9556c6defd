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
import pathlib
import re
import ssl
import urllib.parse
from collections.abc import Iterator, Sequence

from harness import errors, regular_files, writing
from harness.client import exec_credentials, kubeconfig_files

Headers = tuple[tuple[str, str], ...]
"""(name, value) pairs. Names may repeat: each group has its own header."""
_TOKEN = "!#$&'*+-.^_`|~"  # noqa: S105 - the characters that header names may have besides letters and digits
_PORT = 80
_CREDENTIALS = re.compile(r"//[^/]*@")
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
    identity: exec_credentials.Credentials = dataclasses.field(
        default_factory=exec_credentials.Credentials
    )
    """Empty if an exec plugin provides them."""
    authority: bytes = dataclasses.field(default=b"", repr=False)
    """The cluster's certificate authority in PEM; empty: those of the system."""
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
                # the ssl module reads certificates from files only
                pair = credentials.certificate + b"\n" + credentials.key
                with writing.private_file(pair) as path:
                    context.load_cert_chain(path)
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


def load(path: pathlib.Path, *, context: str = "") -> Endpoint:
    """Return the endpoint of a kubeconfig's context; `context` empty: the current one.

    Raises KubeconfigError if the file is malformed or needs something that is not supported.
    """
    return endpoint(kubeconfig_files.extracted([path], context=context), str(path))


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


def endpoint(document: Document, where: str) -> Endpoint:
    """Return the endpoint of a kubeconfig that was extracted; `where` is for messages."""
    cluster, *users = (
        entry.get(kind) or {}
        for section, kind in (("clusters", "cluster"), ("users", "user"))
        for entry in document[section]
    )
    user: Document = users[0] if users else {}
    for setting in ("username", "auth-provider"):
        if user.get(setting):
            raise errors.KubeconfigError(
                f"{where}: expected a user with a token, a client certificate or an exec plugin, got "
                f"one with the unsupported setting {setting}"
            )
    url = _url(cluster.get("server"), ("https", "http"), where, "the server as an http(s) URL")
    certificate, key = _pem(user, "client-certificate", where), _pem(user, "client-key", where)
    file = user.get("tokenFile") if not user.get("token") else None
    token = _bytes(file, "tokenFile", where).decode().strip() if file else user.get("token")
    command = user.get("exec") if not (token or certificate) else None
    return Endpoint(
        host=url.hostname or "",
        port=url.port or (443 if url.scheme == "https" else _PORT),
        tls=url.scheme == "https",
        prefix=url.path.rstrip("/"),
        identity=exec_credentials.Credentials(str(token or ""), certificate, key),
        authority=_pem(cluster, "certificate-authority", where),
        insecure=bool(cluster.get("insecure-skip-tls-verify", False)),
        server_name=str(cluster.get("tls-server-name") or ""),
        plugin=exec_credentials.read(command, cluster, where) if command else None,
        proxy=_proxy(cluster.get("proxy-url"), where),
        impersonation=_impersonation(user, where),
    )


def _url(
    address: object, schemes: Sequence[str], where: str, expected: str
) -> urllib.parse.SplitResult:
    try:
        url = urllib.parse.urlsplit(address if isinstance(address, str) else "")
        if url.scheme in schemes and url.hostname and url.port != 0:
            return url
    except ValueError:
        pass  # an invalid port or IPv6 address
    shown = _CREDENTIALS.sub("//", str(address))
    raise errors.KubeconfigError(f"{where}: expected {expected}, got {shown!r}")


def _pem(section: Document, key: str, where: str) -> bytes:
    if data := section.get(f"{key}-data"):
        try:
            return base64.b64decode(data, validate=True)
        except ValueError as error:
            raise errors.KubeconfigError(f"{where}: {key}-data is not base64") from error
    return _bytes(section[key], key, where) if section.get(key) else b""


def _bytes(file: str, key: str, where: str) -> bytes:
    try:
        return regular_files.content(file)
    except OSError as error:
        raise errors.KubeconfigError(f"{where}: {key} {file}: {error.strerror}") from error


shared_context = functools.lru_cache(maxsize=8)(Endpoint.context)
shared_plugin = functools.lru_cache(maxsize=8)(exec_credentials.Plugin)


def _proxy(address: object, where: str) -> Proxy | None:
    if not address:
        return None
    url = _url(address, ("http",), where, "the cluster's proxy-url as http://host:port")
    authorization = ""
    if url.username is not None:
        pair = f"{urllib.parse.unquote(url.username)}:{urllib.parse.unquote(url.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
    return Proxy(host=url.hostname or "", port=url.port or _PORT, authorization=authorization)


def _impersonation(user: Document, where: str) -> Headers:
    """Return the headers for a kubeconfig's user, none if it does not impersonate."""
    try:
        headers = tuple(_impersonation_headers(user))
        if all(value.isprintable() for _, value in headers) and (user.get("as") or not headers):
            return headers
    except (TypeError, AttributeError):
        pass  # reported below
    raise errors.KubeconfigError(
        f"{where}: expected a user to impersonate: `as` and `as-uid` as printable text, `as-groups` "
        "as a list, and `as-user-extra` as lists by key"
    )


def _impersonation_headers(user: Document) -> Iterator[tuple[str, str]]:
    named = {"Impersonate-User": user.get("as"), "Impersonate-Uid": user.get("as-uid")}
    yield from ((name, value) for name, value in named.items() if value)
    yield from (("Impersonate-Group", group) for group in _listed(user.get("as-groups")))
    for key, values in (user.get("as-user-extra") or {}).items():
        name = f"Impersonate-Extra-{urllib.parse.quote(key, safe=_TOKEN)}"
        yield from ((name, value) for value in _listed(values))


def _listed(values: object) -> list[str]:
    if not isinstance(values, list | None):
        raise TypeError(values)
    return values or []
