"""The proxy of a kubeconfig's cluster (`proxy-url`): HTTP, with or without a password."""

import base64
import dataclasses
import pathlib
import re
import urllib.parse

from harness import errors

_PORT = 80
_CREDENTIALS = re.compile(r"//[^/]*@")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """An HTTP proxy. The repr keeps the password to itself."""

    host: str
    port: int
    authorization: str = dataclasses.field(default="", repr=False)
    """The value of Proxy-Authorization; empty: the proxy asks for none."""

    def __str__(self) -> str:
        """Return its address, for messages."""
        return f"http://{self.host}:{self.port}"

    @property
    def headers(self) -> dict[str, str]:
        """Return what the proxy wants to know of us."""
        return {"Proxy-Authorization": self.authorization} if self.authorization else {}


def read(address: object, path: pathlib.Path) -> Proxy | None:
    """Return the proxy of this URL, None for an empty one; KubeconfigError for a URL or a kind of proxy that cannot be used."""
    if not address:
        return None
    try:
        url = urllib.parse.urlsplit(str(address))
        if url.scheme == "http" and url.hostname:
            port = url.port or _PORT
            return Proxy(host=url.hostname, port=port, authorization=_authorization(url))
    except ValueError:
        pass  # a port or an IPv6 address that is none
    shown = _CREDENTIALS.sub("//", str(address))
    raise errors.KubeconfigError(
        f"{path}: expected the cluster's proxy-url as http://host:port, got {shown!r}: name an HTTP proxy, or forward a port to "
        "the API server and name that in a kubeconfig without proxy-url"
    )


def _authorization(url: urllib.parse.SplitResult) -> str:
    if url.username is None:
        return ""
    pair = f"{urllib.parse.unquote(url.username)}:{urllib.parse.unquote(url.password or '')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"
