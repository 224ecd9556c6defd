"""A real API server process, a relay before it that can be cut, and a server that says what it is
told to say.
"""

import asyncio
import contextlib
import json
import pathlib
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness.client import apis, kubeconfigs, transports
from tests.support import api_servers

TIMEOUT_S = 30


class Server:
    """An API server process with a short history."""

    def __init__(self, directory: pathlib.Path, *, watch_history: int) -> None:
        self.kubeconfig = directory / "plain"
        self.process = api_servers.start(directory, "--set", f"watch_history={watch_history}")
        self.api = apis.Api(transports.connect(self.kubeconfig))

    def clean(self) -> None:
        for resource in (apis.LEASES, apis.PODS):
            for item in self.api.list(resource, namespace="default").items:
                name = item["metadata"]["name"]
                self.api.delete(resource, name, namespace="default", grace_period_s=0)

    def stop(self) -> None:
        self.api.transport.close()
        self.process.kill()


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("server"), watch_history=5)
    yield made
    made.stop()


@pytest.fixture
def server(shared_server: Server) -> Iterator[Server]:
    """Each resource remembers its newest five commits; there are no leases and no pods."""
    yield shared_server
    shared_server.clean()


@pytest.fixture
def mortal_server(tmp_path: pathlib.Path) -> Iterator[Server]:
    """One to be killed."""
    made = Server(tmp_path, watch_history=5)
    yield made
    made.stop()


class Relay:
    """Passes bytes on to a server; while it is cut, every connection ends at once."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        assert self._ready.wait(TIMEOUT_S)

    async def _serve(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        listener = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = listener.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopped.wait()
        listener.close()
        self._abort_all()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._cut:
            writer.transport.abort()
            return
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        if self._cut:  # while we were connecting
            writer.transport.abort()
            far_writer.transport.abort()
            return
        self._writers |= {writer, far_writer}
        pumps = (self._pump(reader, far_writer), self._pump(far_reader, writer))
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*pumps)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            while data := await reader.read(65536):
                writer.write(data)
        writer.close()
        self._writers.discard(writer)

    def _abort_all(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    def cut(self) -> None:
        async def cut() -> None:
            self._cut = True
            self._abort_all()

        asyncio.run_coroutine_threadsafe(cut(), self._loop).result(TIMEOUT_S)

    def mend(self) -> None:
        self._cut = False

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(TIMEOUT_S)


@pytest.fixture
def relay(server: Server) -> Iterator[Relay]:
    made = Relay(kubeconfigs.load(server.kubeconfig).port)
    yield made
    made.stop()


@pytest.fixture
def relayed_kubeconfig(server: Server, relay: Relay, tmp_path: pathlib.Path) -> pathlib.Path:
    document = json.loads(server.kubeconfig.read_text())
    document["clusters"][0]["cluster"]["server"] = f"http://127.0.0.1:{relay.port}"
    path = tmp_path / "relayed"
    path.write_text(json.dumps(document))
    return path


Talk = Callable[[socket.socket], None]


class ScriptedServer:
    """Hands each connection to the next function of its script; nothing is listened to after the
    last.
    """

    def __init__(self, *script: Talk) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.endpoint = kubeconfigs.Endpoint(host="127.0.0.1", port=self.port, tls=False)
        self.failures: queue.Queue[BaseException] = queue.Queue()
        self._script = script
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            for talk in self._script:
                connection, _ = self._socket.accept()
                connection.settimeout(TIMEOUT_S)
                with connection:
                    talk(connection)
        except BaseException as error:
            self.failures.put(error)
        finally:
            self._socket.close()

    def finish(self) -> None:
        """Wait for the script's end; whatever failed in it fails here."""
        self._thread.join(TIMEOUT_S)
        assert not self._thread.is_alive(), "the script has not come to its end"
        if not self.failures.empty():
            raise self.failures.get()


@pytest.fixture
def scripted() -> Iterator[Callable[..., ScriptedServer]]:
    with contextlib.ExitStack() as stack:

        def start(*script: Talk) -> ScriptedServer:
            made = ScriptedServer(*script)
            stack.callback(made.finish)
            return made

        yield start


@pytest.fixture
def transport_to() -> Iterator[Callable[[Any], transports.HttpTransport]]:
    """Transports that are closed at the end."""
    with contextlib.ExitStack() as stack:

        def connect(endpoint: kubeconfigs.Endpoint) -> transports.HttpTransport:
            return stack.enter_context(contextlib.closing(transports.HttpTransport(endpoint)))

        yield connect
