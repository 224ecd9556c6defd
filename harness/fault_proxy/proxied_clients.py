"""The clients of the proxy: each has its own port, token and API server connection."""

import asyncio
import logging
import secrets
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import aiohttp
from aiohttp import web

from harness.fault_proxy import (
    exchanges,
    http_headers,
    settings,
    stale_reads,
    statuses,
    upstreams,
    watch_relays,
)
from harness.faults import injection

Note = Callable[[str], None]
_Result = TypeVar("_Result")
_silent = logging.getLogger("harness.fault_proxy.aiohttp")
_silent.addHandler(logging.NullHandler())
_silent.propagate = False  # aiohttp logs malformed requests with a traceback


class ProxiedClient:
    """One client: its requests are recognised by its port, and accepted with its token only."""

    def __init__(
        self,
        client: settings.Client,
        session: aiohttp.ClientSession,
        faults: injection.Faults,
        notes: stale_reads.VersionNotes,
        note: Note,
    ) -> None:
        """`note` gets lines for the log. Raises KubeconfigError for an unusable kubeconfig."""
        self.name, self.settings = client.name, client
        self.upstream = upstreams.Upstream(client, session)
        self.faults, self.notes = faults, notes
        self.token = secrets.token_urlsafe()
        self._note = note
        self._is_upstream_lost = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self.watches: set[watch_relays.WatchRelay] = set()
        """Those that are open."""
        self.server = web.Server(
            self._handle,
            handler_cancellation=True,  # a client that has gone ends its watch at the API server
            access_log=None,
            logger=_silent,
            auto_decompress=False,
            max_line_size=upstreams.HEADER_BYTES_MAX,
            max_field_size=upstreams.HEADER_BYTES_MAX,
            max_headers=upstreams.HEADERS_MAX,
        )

    def keep(self, work: Coroutine[Any, Any, _Result]) -> asyncio.Task[_Result]:
        """Start work that goes on even if the client of the request disconnects."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    async def stop(self, *, timeout_s: float) -> None:
        """End watches, and wait until the requests under way have been passed, or time is up."""
        for relay in list(self.watches):
            relay.end()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout_s)
        self.server.pre_shutdown()  # idle connections end at once
        await self.server.shutdown(timeout_s)

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._note_loss(error)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        refusal = self._refuse(request)
        exchange = exchanges.Exchange(self, request)
        try:
            if refusal is not None:
                await exchange.response.send_status(refusal)
            else:
                await exchange.run()
                self._is_upstream_lost = False
        except upstreams.NoResponseError as error:
            self._note_loss(error)
            exchange.response.reset()
        except web.HTTPRequestEntityTooLarge:
            exchange.response.keeps_alive = False  # the rest of the body has not been read
            message = f"expected a body of at most {exchanges.BODY_BYTES_MAX} bytes"
            refusal = statuses.failure(413, "RequestEntityTooLarge", message)
            await exchange.response.send_status(refusal)
        except (ConnectionError, web.RequestPayloadError):
            exchange.response.close()  # the client has gone
        except Exception as error:  # noqa: BLE001 - the outermost edge: cut one client, serve others
            self._note(f"{self.name}: {request.method} {request.path}: {error!r}")
            exchange.response.reset()
        return exchange.response

    def _refuse(self, request: web.BaseRequest) -> dict[str, Any] | None:
        if not http_headers.has_token(request, self.token):
            return statuses.failure(
                401, "Unauthorized", f"expected the token of {self.name} at the fault proxy"
            )
        if "Upgrade" in request.headers or request.method == "CONNECT":
            return statuses.failure(
                501,
                "NotImplemented",
                "the fault proxy passes HTTP/1.1 requests and watches only: use the cluster's own "
                "kubeconfig for exec, attach and port-forward",
            )
        return None

    def _note_loss(self, error: BaseException) -> None:
        """Note a lost API server once, until it answers again."""
        if not self._is_upstream_lost:
            self._is_upstream_lost = True
            self._note(
                f"{self.name}: no response of the API server ({error}); its requests are reset "
                "until there is one"
            )
