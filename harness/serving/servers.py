"""The server: which addresses there are, and its life from a free port to its end."""

import asyncio
import contextlib
import errno
import logging
import pathlib
import signal
import socket
import sys
import traceback
from collections.abc import Awaitable, Callable

from aiohttp import hdrs, web

from harness import errors
from harness.serving import live_pages, served_folders, sites

HOST = "127.0.0.1"
HOSTS = (HOST, "localhost")
"""Names in `Host`, with any port: one that is forwarded by ssh has another. A name that someone
else had resolved to this machine (DNS rebinding) is none of them."""
_NEAR = ("", "same-origin", "none")
"""Values of Sec-Fetch-Site: an older browser, a page of ours, or the user."""
_COMMON = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}
_PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_FILE_POLICY = (
    "sandbox allow-scripts allow-downloads; default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src data:; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
"""A report is a page with scripts, which may come from anywhere: they can ask for nothing. The
index needs no script."""
LINE_MAX = 64 * 2**10
"""Most bytes of an address: names of runs are long, and filters may have several."""
_END_S = 1.0
"""Seconds that open connections get at the end."""
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def application(reports: pathlib.Path) -> web.Application:
    """Return the application for a folder of reports. Raises UsageError if it is no folder."""
    app = web.Application(middlewares=[_answer])
    app[sites.FOLDER] = served_folders.ServedFolder(reports)
    live_pages.prepare(app)
    app.add_routes(
        [
            web.get("/", sites.answer_index),
            web.get("/running", live_pages.answer_running),
            web.get(r"/files/{path:[\s\S]+}", sites.answer_file),
            web.get("/static/{name}", sites.answer_static),
        ]
    )
    return app


@web.middleware
async def _answer(request: web.Request, handler: _Handler) -> web.StreamResponse:
    if refusal := _refusal(request):
        return sites.problem(refusal, status=403)
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
}


def _refusal(request: web.Request) -> str:
    host = request.headers.get(hdrs.HOST, "")
    if host.partition(":")[0] not in HOSTS:
        return f"expected this server as 127.0.0.1 or localhost, got the name {host!r:.100}"
    fetch = request.headers
    is_opened = (fetch.get("Sec-Fetch-Mode"), fetch.get("Sec-Fetch-Dest")) == (
        "navigate",
        "document",
    )  # a link in a report comes from its sandbox, which is no site at all
    if fetch.get("Sec-Fetch-Site", "") not in _NEAR and not is_opened:
        return "a page of another site asked for this one: open it yourself"
    return ""


async def _secure(request: web.Request, answer: web.StreamResponse) -> None:
    path = request.rel_url.raw_path
    is_file = path == "/" or path.startswith(sites.FILES)
    answer.headers.update(_COMMON)
    answer.headers["Content-Security-Policy"] = _FILE_POLICY if is_file else _PAGE_POLICY
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
    """Serve a folder on a socket until `stopped` is set; `told` gets the address."""
    port = listening.getsockname()[1]
    app = application(reports)
    app.on_response_prepare.append(_secure)
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=_END_S,
        max_line_size=LINE_MAX,
        logger=logging.Logger("silent", logging.CRITICAL),  # of requests that are none
    )
    await runner.setup()
    try:
        await web.SockSite(runner, listening).start()
        told(f"http://{HOST}:{port}/")
        await stopped.wait()
    finally:
        await runner.cleanup()


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
