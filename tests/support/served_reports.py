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
    status: int
    headers: Message
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


class Client:
    def __init__(self, address: str) -> None:
        self.origin = address.rstrip("/")
        self.port = int(self.origin.rpartition(":")[2])

    def ask(
        self, path: str, headers: Mapping[str, str] | None = None, *, method: str = "GET"
    ) -> Answer:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, headers=dict(headers or {}))
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())


@contextlib.contextmanager
def serving(reports: pathlib.Path) -> Iterator[Client]:
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
