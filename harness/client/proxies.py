"""The HTTP proxy of a kubeconfig's cluster (`proxy-url`), with or without a password."""

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
        """The headers that the proxy needs."""
        return {"Proxy-Authorization": self.authorization} if self.authorization else {}


def read(address: object, path: pathlib.Path) -> Proxy | None:
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
