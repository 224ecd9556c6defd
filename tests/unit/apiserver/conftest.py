"""Stores with a clock of their own, and a server in a thread of this process."""

import asyncio
import contextlib
import datetime
import http.client
import itertools
import json
import random
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.apiserver.errors import status_errors
from harness.apiserver.registry import store as stores
from harness.apiserver.server import connections, servers

TOKEN = "secret-of-the-tests"
TIMEOUT_S = 20
_EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def ticking() -> Callable[[], str]:
    seconds = itertools.count()

    def now() -> str:
        moment = _EPOCH + datetime.timedelta(seconds=next(seconds))
        return moment.strftime("%Y-%m-%dT%H:%M:%SZ")

    return now


@pytest.fixture
def make_store() -> Callable[..., stores.Store]:
    def make(**options: Any) -> stores.Store:
        return stores.Store(now=ticking(), stream=random.Random(1), **options)

    return make


@pytest.fixture
def store(make_store: Callable[..., stores.Store]) -> stores.Store:
    return make_store()


@pytest.fixture
def refuses() -> Callable[..., Any]:
    """`with refuses(409, "Conflict", "text of the message"):`."""

    @contextlib.contextmanager
    def expect(code: int, reason: str | None = None, text: str = "") -> Iterator[Any]:
        with pytest.raises(status_errors.StatusError) as caught:
            yield caught
        error = caught.value
        assert error.code == code, error.message
        assert reason is None or error.reason == reason
        assert text in error.message

    return expect


class LiveServer:
    """The real server on loopback in a thread of this process; whatever touches its store runs on
    its loop.
    """

    def __init__(
        self,
        coin: random.Random,
        make_parts: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self._coin, self._make_parts = coin, make_parts
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(TIMEOUT_S)

    async def _serve(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        self.store = stores.Store(now=ticking(), stream=random.Random(1))
        self.server = servers.Server(
            self.store,
            token=TOKEN,
            now=ticking(),
            coin=self._coin,
            **self._make_parts(),
        )
        listener = await self._loop.create_server(
            lambda: connections.Connection(self.server), "127.0.0.1", 0
        )
        self.port = listener.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopped.wait()
        listener.close()
        self.server.abort_all()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(TIMEOUT_S)

    def run(self, call: Callable[[], Any]) -> Any:
        async def run() -> Any:
            return call()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(TIMEOUT_S)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str = TOKEN,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any]:
        """(status, decoded body) of one request on a connection of its own."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        ) as connection:
            connection.request(method, path, body=data, headers=sent | (headers or {}))
            answer = connection.getresponse()
            text = answer.read()
        kind = answer.headers["Content-Type"]
        return answer.status, json.loads(text) if kind == "application/json" and text else text

    @contextlib.contextmanager
    def streaming(self, path: str, **headers: str) -> Iterator[http.client.HTTPResponse]:
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        ) as connection:
            connection.request("GET", path, headers={"Authorization": f"Bearer {TOKEN}"} | headers)
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            yield answer

    @contextlib.contextmanager
    def watching(self, path: str) -> Iterator[Iterator[Any]]:
        """The decoded events of a watch, as they come; ends with the stream."""
        with self.streaming(path) as answer:
            yield (json.loads(line) for line in answer)


@pytest.fixture
def serve() -> Iterator[Callable[..., LiveServer]]:
    """Start servers; the coin decides whether a write's events go before its answer, the parts are
    made on the server's loop.
    """
    started: list[LiveServer] = []

    def start(
        coin: random.Random | None = None,
        make_parts: Callable[[], dict[str, Any]] = dict,
    ) -> LiveServer:
        started.append(LiveServer(coin or random.Random(1), make_parts))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def live(serve: Callable[..., LiveServer]) -> LiveServer:
    return serve()
