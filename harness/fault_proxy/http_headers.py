"""Which headers the proxy passes, all but those of one connection, and which token it asks for."""

import hmac

from aiohttp import web
from multidict import CIMultiDict, CIMultiDictProxy

_HOP_BY_HOP = (
    "Connection",
    "Keep-Alive",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "Proxy-Connection",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
)
"""RFC 9110, section 7.6.1; further ones are named by the header Connection."""
_OF_THE_PROXY = ("Authorization", "Host", "Content-Length", "Expect")
"""Headers of requests that differ on the other side: the body's length is computed again."""

Headers = CIMultiDict[str]


def has_token(request: web.BaseRequest, token: str) -> bool:
    given = request.headers.get("Authorization", "").encode(errors="replace")
    return hmac.compare_digest(given, f"Bearer {token}".encode())


def of_request(headers: CIMultiDictProxy[str], *, is_compressible: bool) -> Headers:
    """Return the headers to send to the API server, without credentials.

    `is_compressible` False: the body is needed uncompressed, as are the events of a watch, which
    are passed one by one.
    """
    passed = of_response(headers)
    for name in _OF_THE_PROXY:
        passed.popall(name, None)
    if not is_compressible:
        passed.popall("Accept-Encoding", None)
    return passed


def of_response(headers: CIMultiDictProxy[str]) -> Headers:
    passed = CIMultiDict(headers)
    for value in passed.getall("Connection", ()):
        for name in value.split(","):
            passed.popall(name.strip(), None)
    for name in _HOP_BY_HOP:
        passed.popall(name, None)
    return passed
