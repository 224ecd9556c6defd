"""Runs and campaigns under way: a page, and streams of events that bring it up to date."""

import asyncio
import contextlib
from collections.abc import Callable

import msgspec
from aiohttp import web

from harness import errors
from harness.live import snapshots
from harness.serving import followers, run_pages, served_folders, sites

EVERY_S = 1.0
"""Seconds between two states."""
STREAMS_MAX = 32
_OPEN = web.AppKey("open streams", set[followers.Follower])


def prepare(app: web.Application) -> None:
    """Give an application what streams need."""
    app[_OPEN] = set()


async def answer_running(request: web.Request) -> web.Response:
    """Answer with all that goes on."""
    follower = _of_all(request)
    try:
        states = await asyncio.to_thread(follower.look)
    finally:
        await asyncio.to_thread(follower.close)
    return sites.page("running.html.j2", states=states, is_live=True)


def _of_all(request: web.Request) -> followers.AllFollower:
    site = sites.of(request)
    return followers.AllFollower(site.folder, site.listing)


async def answer_all_events(request: web.Request) -> web.StreamResponse:
    """Answer with the states of all that goes on, without an end."""
    return await _stream(request, lambda: _of_all(request), is_endless=True)


async def answer_run_events(request: web.Request) -> web.StreamResponse:
    """Answer with the states of one run until it has ended."""
    return await _stream(request, lambda: followers.of_run(run_pages.run_of(request)))


async def answer_campaign_events(request: web.Request) -> web.StreamResponse:
    """Answer with the states of one campaign until it has ended."""
    name = served_folders.names(request)[1]
    folder = sites.of(request).folder
    return await _stream(request, lambda: followers.of_campaign(folder.campaign(name)))


async def _stream(
    request: web.Request, begin: Callable[[], followers.Follower], *, is_endless: bool = False
) -> web.StreamResponse:
    streams = request.app[_OPEN]
    if len(streams) >= STREAMS_MAX:
        return sites.problem("too many pages are open that follow a run: close some", status=503)
    follower = await asyncio.to_thread(begin)
    streams.add(follower)
    answer = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    try:
        await answer.prepare(request)
        with contextlib.suppress(ConnectionError):  # the page was closed
            await _send(request, answer, follower, is_endless=is_endless)
    finally:
        streams.discard(follower)
        await asyncio.to_thread(follower.close)
    return answer


async def _send(
    request: web.Request,
    answer: web.StreamResponse,
    follower: followers.Follower,
    *,
    is_endless: bool,
) -> None:
    """Send states until the end, of what is followed or of the server."""
    stopping, sent = sites.of(request).stopping, ""
    while not stopping.is_set():
        try:
            states = await asyncio.to_thread(follower.look)
        except (errors.HarnessError, OSError):  # it was removed
            break
        html = sites.render("states.html.j2", states=states)
        if html != sent:
            await answer.write(_event("state", html))
        else:
            await answer.write(b": nothing new\n\n")  # notices that the page is gone
        sent = html
        if not is_endless and all(state.state in snapshots.AT_END for state in states):
            break
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stopping.wait(), EVERY_S)
    if not stopping.is_set():
        await answer.write(_event("end", ""))


def _event(name: str, content: str) -> bytes:
    return f"event: {name}\ndata: ".encode() + msgspec.json.encode(content) + b"\n\n"
