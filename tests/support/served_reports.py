"""A server of a folder of reports in a thread, and a client that asks as a browser does."""

import asyncio
import contextlib
import dataclasses
import http.client
import pathlib
import threading
from collections.abc import Iterator, Mapping
from email.message import Message
from typing import Any

from harness.serving import servers


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """An answer."""

    status: int
    headers: Message
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()


class Client:
    """Asks a server; it has the cookie."""

    def __init__(self, address: str) -> None:
        self.origin, _, self.token = address.partition("/?token=")
        self.port = int(self.origin.rpartition(":")[2])
        entered = self.ask(f"/?token={self.token}", {})
        self.cookie = entered.headers["Set-Cookie"].partition(";")[0]

    def ask(
        self,
        path: str,
        headers: Mapping[str, str] | None = None,
        *,
        method: str = "GET",
        body: bytes | None = None,
    ) -> Answer:
        """Ask for a path; `headers` None: with the cookie, otherwise with these alone."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            given = {"Cookie": self.cookie} if headers is None else dict(headers)
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())

    def post(self, path: str, body: str, **headers: str) -> Answer:
        """Send a form as a page of the server does."""
        given = {
            "Cookie": self.cookie,
            "Origin": self.origin,
            "Content-Type": "application/x-www-form-urlencoded",
            **headers,
        }
        return self.ask(path, given, method="POST", body=body.encode())


@contextlib.contextmanager
def serving(reports: pathlib.Path) -> Iterator[Client]:
    """Serve a folder meanwhile."""
    began, found = threading.Event(), dict[str, Any]()

    async def run() -> None:
        found["loop"], found["stopped"] = asyncio.get_running_loop(), asyncio.Event()

        def tell(address: str) -> None:
            found["address"] = address
            began.set()

        await servers.serve(reports, servers.bound(0), tell, found["stopped"])

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        assert began.wait(60)
        yield Client(found["address"])
    finally:
        found["loop"].call_soon_threadsafe(found["stopped"].set)
        thread.join(60)
        assert not thread.is_alive()
