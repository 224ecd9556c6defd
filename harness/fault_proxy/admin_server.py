"""The admin API of the proxy over plain HTTP on loopback: `faults.admin_api` with a token."""

import hmac
import secrets
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web

from harness import clocks
from harness.fault_proxy import statuses
from harness.faults import admin_api, injection

_TOKEN_BYTES = 32


class AdminServer:
    """The admin API for the faults of one proxy."""

    def __init__(self, faults: injection.Faults, *, on_change: Callable[[], None]) -> None:
        """`on_change` is called after each request that may have added a fault."""
        self._faults, self._on_change = faults, on_change
        self.token = secrets.token_urlsafe(_TOKEN_BYTES)
        self._authorization = f"Bearer {self.token}".encode()
        self.server = web.Server(self._handle, access_log=None)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").encode(errors="replace")
        if not hmac.compare_digest(given, self._authorization):
            return _failure(401, "Unauthorized", "expected the token of the admin API")
        if not request.path.startswith(admin_api.PREFIX):
            return _failure(404, "NotFound", f"expected a path below {admin_api.PREFIX}")
        try:
            return _document(*await self._answer(request))
        except admin_api.NotServedError as error:
            return _failure(404, "NotFound", str(error))
        except ValueError as error:
            return _failure(400, "BadRequest", f"not a fault: {error}")

    async def _answer(self, request: web.BaseRequest) -> tuple[int, Any]:
        answer = admin_api.answer(
            self._faults,
            request.method,
            request.path,
            query=request.query_string,
            body=await request.read(),
            boot_id=clocks.boot_id(),
        )
        if request.method == "POST":
            self._on_change()
        return answer


def _failure(code: int, reason: str, message: str) -> web.Response:
    return _document(code, statuses.failure(code, reason, message))


def _document(status: int, document: Any) -> web.Response:
    body = msgspec.json.encode(document)
    return web.Response(status=status, body=body, content_type=statuses.CONTENT_TYPE)
