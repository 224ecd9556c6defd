"""The server: which addresses there are, and its life from a free port to its end."""

import asyncio
import contextlib
import errno
import logging
import pathlib
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable

from aiohttp import web

from harness import clocks, errors
from harness.serving import (
    access,
    files_of,
    list_pages,
    listings,
    live_pages,
    reading_children,
    run_pages,
    served_folders,
    sites,
    sql_pages,
)

HOST = "127.0.0.1"
LINE_MAX = 64 * 2**10
"""Most bytes of an address: names of runs are long, and filters may have several."""
_END_S = 1.0
"""Seconds that open connections get at the end."""
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(reports: pathlib.Path, *, port: int) -> web.Application:
    """Return the application for a folder of reports. Raises UsageError if it is no folder."""
    folder = served_folders.ServedFolder(reports)
    app = web.Application(middlewares=[_answer], client_max_size=sql_pages.FORM_MAX)
    app[sites.SITE] = sites.Site(
        folder=folder,
        guard=access.Guard(cookie_name=f"flake-hunt-{port}"),
        listing=listings.Listing(folder.path),
        readers=reading_children.Readers(),
        stopping=asyncio.Event(),
    )
    live_pages.prepare(app)
    app.add_routes(
        [
            web.get("/", list_pages.answer_runs),
            web.get("/campaigns", list_pages.answer_campaigns),
            web.get("/campaigns/{name}", list_pages.answer_campaign),
            web.get("/campaigns/{name}/events", live_pages.answer_campaign_events),
            web.get("/runs/{scenario}/{name}", run_pages.answer_run),
            web.get("/runs/{scenario}/{name}/events", live_pages.answer_run_events),
            web.get("/runs/{scenario}/{name}/tables/{table}", run_pages.answer_table),
            web.get("/running", live_pages.answer_running),
            web.get("/running/events", live_pages.answer_all_events),
            web.get("/sql", sql_pages.answer_form),
            web.post("/sql", sql_pages.answer_query),
            web.get(r"/files/{key}/{path:[\s\S]+}", files_of.answer_file),
            web.get("/static/{digest}/{name}", sites.answer_static),
        ]
    )
    app.on_shutdown.append(_stop_streams)
    return app


async def _stop_streams(app: web.Application) -> None:
    app[sites.SITE].stopping.set()


@web.middleware
async def _answer(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Answer a request if it is admitted; what cannot be met is a sentence."""
    guard = sites.of(request).guard
    refusal = guard.refusal(request)
    if refusal:
        return sites.problem(refusal, status=403)
    if not request.path.startswith((access.STATIC, access.FILES)) and guard.is_given_token(request):
        return guard.let_in(sites.page("entry.html.j2", target=_without_token(request)))
    try:
        return await handler(request)
    except served_folders.MissingError as error:
        return sites.problem(str(error), status=404)
    except errors.HarnessError as error:
        return sites.problem(str(error), status=422)
    except web.HTTPException as error:
        return sites.problem(_WORDS.get(error.status, error.reason), status=error.status)
    except OSError as error:
        return sites.problem(f"it was removed, or cannot be read ({error.strerror})", status=404)
    except Exception:  # noqa: BLE001 - the outermost edge of a request
        traceback.print_exc(file=sys.stderr)
        return sites.problem("this is an error of Flake Hunt: see the terminal", status=500)


_WORDS = {
    404: "there is no such page",
    405: "this page is asked for in another way",
    413: f"expected a query of at most {sql_pages.FORM_MAX >> 10} KiB",
}


def _without_token(request: web.Request) -> str:
    """Return the page that is asked for; two slashes would name another host."""
    rest = request.rel_url.without_query_params(access.TOKEN)
    return "/" + str(rest).lstrip("/")


async def _secure(request: web.Request, answer: web.StreamResponse) -> None:
    """Add the headers that every answer has, also one that is streamed."""
    for name, value in access.headers_of(request.rel_url.raw_path).items():
        answer.headers.setdefault(name, value)
    answer.headers.popall("Server", None)


def bound(port: int) -> socket.socket:
    """Return a socket that listens; port 0: on any. Raises UsageError if it is taken."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
        found.listen(128)
    except OSError as error:
        found.close()
        why = "it is in use" if error.errno == errno.EADDRINUSE else error.strerror
        raise errors.UsageError(
            f"expected a free port for --port, got {port} ({why}): choose another one, or 0 for any"
        ) from error
    return found


async def serve(
    reports: pathlib.Path,
    listening: socket.socket,
    told: Callable[[str], None],
    stopped: asyncio.Event,
) -> None:
    """Serve a folder on a socket until `stopped` is set; `told` gets the address.

    Raises UsageError if it is no folder.
    """
    port = listening.getsockname()[1]
    app = application(reports, port=port)
    app.on_response_prepare.append(_secure)
    runner = web.AppRunner(
        app,
        access_log=None,
        handler_cancellation=True,
        shutdown_timeout=_END_S,
        max_line_size=LINE_MAX,
        logger=logging.Logger("silent", logging.CRITICAL),  # of requests that are none
    )
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        site = app[sites.SITE]
        read_ahead = threading.Thread(target=_read_ahead, args=(site,), daemon=True)
        read_ahead.start()
        told(f"http://{HOST}:{port}/?{access.TOKEN}={site.guard.token}")
        await stopped.wait()
    finally:
        await runner.cleanup()


def _read_ahead(site: sites.Site) -> None:
    """Read all runs once, before they are asked for."""
    while not site.stopping.is_set() and site.listing.listed(at_most_s=0.2).unread:
        clocks.sleep(0.02)  # pages ask in between


def until_interrupted(
    reports: pathlib.Path, listening: socket.socket, told: Callable[[str], None]
) -> None:
    """Serve a folder until SIGINT or SIGTERM. Raises UsageError if it is no folder."""

    async def run() -> None:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stopped.set)
        await serve(reports, listening, told, stopped)

    with contextlib.closing(listening):
        asyncio.run(run())
