"""Admits requests of a browser that was given the address, and none of another site's pages.

The address has a token, as Jupyter's has; then a cookie takes its place. A report is a page with
scripts, which may come from anywhere: files are served below a key of their own, without the cookie
and in a sandbox, so that no script in them can ask for anything.
"""

import dataclasses
import hmac
import secrets
from collections.abc import Mapping

from aiohttp import hdrs, web

HOSTS = ("127.0.0.1", "localhost")
"""Names in `Host`, with any port: one that is forwarded by ssh has another. A name that someone
else had resolved to this machine (DNS rebinding) is none of them."""
METHODS = ("GET", "HEAD", "POST")
STATIC, FILES = "/static/", "/files/"
TOKEN = "token"  # noqa: S105 - the name of a parameter
_NEAR = ("", "same-origin", "none")
"""Values of Sec-Fetch-Site: an older browser, a page of ours, or the user."""

_COMMON = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
PAGE_HEADERS = {
    **_COMMON,
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",  # without a referrer, forms would have the origin `null`
}
FILE_HEADERS = {
    **_COMMON,
    "Content-Security-Policy": "sandbox allow-scripts; default-src 'none'; "
    "style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Guard:
    """The secrets of one server, which end with it."""

    cookie_name: str
    """Cookies of one host are sent to all of its ports: each server has a name of its own."""
    token: str = dataclasses.field(default_factory=lambda: secrets.token_urlsafe(32))
    file_key: str = dataclasses.field(default_factory=lambda: secrets.token_urlsafe(32))
    _cookie: str = dataclasses.field(default_factory=lambda: secrets.token_urlsafe(32))

    def refusal(self, request: web.BaseRequest) -> str:
        """Return why a request is not admitted; empty: it is, or it asks by the token."""
        host = request.headers.get(hdrs.HOST, "")
        if host.partition(":")[0] not in HOSTS:
            return f"expected this server as 127.0.0.1 or localhost, got the name {host!r:.100}"
        if request.method not in METHODS:
            return f"expected {', '.join(METHODS)}, got {request.method!r:.20}"
        path = request.rel_url.raw_path
        if path.startswith(STATIC):
            return ""
        if path.startswith(FILES):
            return self._file_refusal(request, path)
        origin = request.headers.get(hdrs.ORIGIN)
        if self.is_given_token(request) and origin is None:
            return ""
        return self._page_refusal(request, host, origin)

    def is_given_token(self, request: web.BaseRequest) -> bool:
        """Return whether a request asks for a page by the token in its address."""
        given = request.rel_url.query.get(TOKEN, "")
        return request.method == "GET" and _is_same(given, self.token)

    def let_in(self, answer: web.Response) -> web.Response:
        """Add the cookie to the answer to a request with the token."""
        answer.set_cookie(
            self.cookie_name, self._cookie, httponly=True, samesite="Strict", path="/"
        )
        return answer

    def _file_refusal(self, request: web.BaseRequest, path: str) -> str:
        key = path.removeprefix(FILES).partition("/")[0]
        if not _is_same(key, self.file_key):
            return "this address is of another server, or of an earlier one"
        fetch = request.headers
        is_opened = (fetch.get("Sec-Fetch-Mode"), fetch.get("Sec-Fetch-Dest")) == (
            "navigate",
            "document",
        )  # a link in a report comes from its sandbox, which is no site at all
        if fetch.get("Sec-Fetch-Site", "") in _NEAR or is_opened:
            return ""
        return "files are opened, and not read by pages"

    def _page_refusal(self, request: web.BaseRequest, host: str, origin: str | None) -> str:
        if not _is_same(request.cookies.get(self.cookie_name, ""), self._cookie):
            return "open the whole address that `flake-hunt serve` printed, with its token"
        if request.headers.get("Sec-Fetch-Site", "") not in _NEAR:
            return "a page of another site asked for this one: open it yourself"
        if origin is None and request.method == "POST":
            return "expected an Origin with a form: browsers send it"
        if origin is not None and origin != f"http://{host}":
            return f"expected a request of this site, got one of {origin!r:.100}"
        return ""


def headers_of(path: str) -> Mapping[str, str]:
    """Return the headers of an answer to a request for a path."""
    return FILE_HEADERS if path.startswith(FILES) else PAGE_HEADERS


def _is_same(given: str, wanted: str) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())
