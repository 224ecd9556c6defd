"""All that is under way: a page, and a stream of events that brings it up to date."""

import asyncio
import contextlib

import msgspec
from aiohttp import web

from harness.serving import followers, sites

EVERY_S = 1.0
"""Seconds between two states."""
STREAMS_MAX = 32
_OPEN = web.AppKey("open streams", set[followers.Follower])


def prepare(app: web.Application) -> None:
    """Give an application what streams need."""
    app[_OPEN] = set()


async def answer_running(request: web.Request) -> web.Response:
    """Answer with all that goes on."""
    follower = _follower(request)
    try:
        states = await asyncio.to_thread(follower.look)
    finally:
        await asyncio.to_thread(follower.close)
    return sites.page("running.html.j2", states=states, is_live=True)


def _follower(request: web.Request) -> followers.Follower:
    site = sites.of(request)
    return followers.Follower(site.folder, site.listing)


async def answer_events(request: web.Request) -> web.StreamResponse:
    """Answer with the states of all that goes on, until the page is closed or the server ends."""
    streams = request.app[_OPEN]
    if len(streams) >= STREAMS_MAX:
        return sites.problem("too many pages are open that follow runs: close some", status=503)
    follower = _follower(request)
    streams.add(follower)
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    try:
        await answer.prepare(request)
        with contextlib.suppress(ConnectionError):  # the page was closed
            await _send(answer, follower, sites.of(request).stopping)
    finally:
        streams.discard(follower)
        await asyncio.to_thread(follower.close)
    return answer


async def _send(
    answer: web.StreamResponse, follower: followers.Follower, stopping: asyncio.Event
) -> None:
    sent = b""
    while not stopping.is_set():
        states = await asyncio.to_thread(follower.look)
        html = msgspec.json.encode(sites.render("states.html.j2", states=states))
        # A comment notices that the page is gone.
        await answer.write(b": nothing new\n\n" if html == sent else b"data: " + html + b"\n\n")
        sent = html
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), EVERY_S)
