"""One request of a client and its response: what is passed, and what faults do to it."""

import asyncio
import urllib.parse
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec
from aiohttp import web

from harness.fault_proxy import (
    client_responses,
    http_headers,
    stale_reads,
    statuses,
    upstreams,
    watch_frames,
    watch_relays,
)
from harness.faults import api_calls, injection, matching, object_metadata

if TYPE_CHECKING:
    from harness.fault_proxy import proxied_clients

BODY_BYTES_MAX = 16 * 1024 * 1024
"""Maximum size of a request's body; the API server accepts 3 MiB."""
_READING = ("GET", "HEAD", "OPTIONS")
_OK = 200
_OF_A_STORE = (injection.Stale, injection.Overlook)
"""Actions that need an older state; the proxy finds one for some reads only."""


class Exchange:
    """One request and its response."""

    def __init__(self, client: "proxied_clients.ProxiedClient", request: web.BaseRequest) -> None:
        self._client, self._request = client, request.clone(client_max_size=BODY_BYTES_MAX)
        self.response = client_responses.ClientResponse(request)
        self._path, _, self._query = request.raw_path.partition("?")
        self._call = api_calls.parse(request.method, self._path, self._query)

    async def run(self) -> None:
        """Pass the request and its response, unless a fault applies.

        Raises NoResponseError if the API server gives no response, ConnectionError if the client
        has gone, HTTPRequestEntityTooLarge if the body of the request is too large.
        """
        body = await self._request.read() if self._request.body_exists else None
        if self._client.faults.wants("request", self._client.name):
            await self._pass_unless_struck(body)
        else:
            await self._relay(await self._send(body))

    async def _pass_unless_struck(self, body: bytes | None) -> None:
        facts = self._facts(object_metadata.of_body(body))
        stale = await self._find_stale(facts)
        applied = self._client.faults.strike(
            "request",
            facts,
            is_possible=lambda action: not isinstance(action, _OF_A_STORE) or action in stale,
        )
        match applied.action if applied else None:
            case injection.Stale() as action if applied is not None:
                answer, version, applied.note = stale[action]
                applied.facts = msgspec.structs.replace(applied.facts, resource_version=version)
                await self.response.send(*answer)
            case injection.Reject() as action:
                await self.response.send_status(_rejection(action))
            case injection.Lose():
                self.response.close()
            case injection.Block() | injection.Delay() if applied is not None:
                await self._pass_later(applied, body)
            case _:
                await self._relay(await self._send(body))

    # ----------------------------------------------------------- the request

    async def _send(self, body: bytes | None) -> aiohttp.ClientResponse:
        is_watch = self._call.verb == "watch"
        headers = http_headers.of_request(self._request.headers, is_compressible=not is_watch)
        target = self._request.raw_path
        return await self._client.upstream.send(self._request.method, target, headers, body)

    async def _pass_later(self, applied: injection.Applied, body: bytes | None) -> None:
        """Pass a request that a fault holds; a write is passed even if its client has gone.

        The API server must see it whole: it may give up what a client that has gone asked for.
        """
        if self._request.method in _READING:
            await self._wait(applied)
            await self._relay(await self._send(body))
        else:
            work = self._client.keep(self._write_later(applied, body))
            if isinstance(applied.action, injection.Block) and applied.action.sever:
                self.response.close()
            else:
                await self._relay_whole(await asyncio.shield(work))

    async def _write_later(
        self, applied: injection.Applied, body: bytes | None
    ) -> upstreams.WholeAnswer:
        await self._wait(applied)
        return await upstreams.whole(await self._send(body))

    async def _wait(self, applied: injection.Applied) -> None:
        done = asyncio.Event()
        self._client.faults.wait(applied, done.set)
        await done.wait()

    async def _find_stale(
        self, facts: matching.Facts
    ) -> dict[injection.Stale, stale_reads.StaleRead]:
        """Return the answers that faults may give instead: none that is not stale."""
        wanted = self._client.notes.wanted(facts) if stale_reads.is_read(self._call) else ()
        if not wanted:
            return {}
        headers = http_headers.of_request(self._request.headers, is_compressible=False)
        read = stale_reads.Read(self._call, self._path, self._query, headers)
        return await stale_reads.find(read, self._client.upstream, self._client.notes, wanted)

    # ---------------------------------------------------------- the response

    async def _relay(self, answer: aiohttp.ClientResponse) -> None:
        if self._call.verb in ("list", "watch") and answer.status == _OK:
            self._client.notes.last_collection = self._path
        try:
            if self._call.verb == "watch" and answer.status == _OK:
                await self._relay_watch(answer)
            elif self._client.faults.wants("response", self._client.name):
                await self._relay_whole(await upstreams.whole(answer))
            else:
                await self._relay_stream(answer)
        finally:
            answer.release()  # closes the connection unless the body has been read to its end

    async def _relay_stream(self, answer: aiohttp.ClientResponse) -> None:
        """Pass a response piece by piece, so that a long list is not kept in memory."""
        headers = http_headers.of_response(answer.headers)
        await self.response.begin(answer.status, answer.reason or "", headers)
        piece = await _next_piece(answer.content)
        while not answer.content.at_eof():
            await self.response.send_piece(piece)
            piece = await _next_piece(answer.content)
        await self.response.end(piece)

    async def _relay_whole(self, answer: upstreams.WholeAnswer) -> None:
        faults, applied = self._client.faults, None
        if faults.wants("response", self._client.name):
            encoding = answer.headers.get("Content-Encoding", "")
            meta = object_metadata.of_body(answer.body, content_encoding=encoding)
            applied = faults.strike(
                "response",
                self._facts(meta),
                is_possible=lambda action: (
                    not isinstance(action, injection.Truncate) or len(answer.body) > 1
                ),
            )
        match applied.action if applied else None:
            case injection.Reject() as action:
                await self.response.send_status(_rejection(action))
            case injection.Lose():
                self.response.close()
            case injection.Truncate():
                await self._truncate(answer)
            case injection.Block() | injection.Delay() if applied is not None:
                await self._wait(applied)
                await self.response.send(*answer)
            case _:
                await self.response.send(*answer)

    async def _truncate(self, answer: upstreams.WholeAnswer) -> None:
        answer.headers["Content-Length"] = str(len(answer.body))
        await self.response.begin(answer.status, answer.reason, answer.headers, is_stream=True)
        await self.response.send_piece(answer.body[: len(answer.body) // 2])
        self.response.reset()

    async def _relay_watch(self, answer: aiohttp.ClientResponse) -> None:
        framing = watch_frames.of_content_type(answer.headers.get("Content-Type", ""))
        headers = http_headers.of_response(answer.headers)
        await self.response.begin(answer.status, answer.reason or "", headers, is_stream=True)
        relay = watch_relays.WatchRelay(
            self.response,
            framing,
            self._client.faults,
            self._facts,
            client=self._client.name,
            has_initial_events=_asks_for_initial_events(self._query),
        )
        self._client.watches.add(relay)
        try:
            await relay.run(answer.content)
        finally:
            self._client.watches.discard(relay)

    # ----------------------------------------------------------------- facts

    def _facts(self, meta: object_metadata.Metadata | None, event_type: str = "") -> matching.Facts:
        call, meta = self._call, meta or object_metadata.UNKNOWN
        return matching.Facts(
            verb=call.verb,
            path=self._path,
            user_agent=self._request.headers.get("User-Agent", ""),
            client=self._client.name,
            resource=call.resource,
            subresource=call.subresource,
            namespace=call.namespace or meta.namespace,
            name=call.name or meta.name,
            uid=meta.uid,
            event_type=event_type,
            resource_version=meta.version,
        )


async def _next_piece(content: aiohttp.StreamReader) -> bytes:
    try:
        return await content.readany()
    except (aiohttp.ClientError, OSError) as error:
        raise upstreams.NoResponseError(str(error)) from error


def _rejection(action: injection.Reject) -> dict[str, Any]:
    return statuses.failure(
        action.code, action.reason, action.message, retry_after_s=action.retry_after_seconds
    )


def _asks_for_initial_events(query: str) -> bool:
    values = urllib.parse.parse_qs(query).get("sendInitialEvents", [""])
    return values[0] in ("true", "1")
