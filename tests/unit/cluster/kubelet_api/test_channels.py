"""Channels and servers of the kubelet's protocol, on real sockets."""

import pathlib
import random
import socket
import threading
import types
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from harness import clocks, errors
from harness.cluster.kubelet_api import calls, channels, servers, services, socket_paths

V1 = services.DRA["v1.DRAPlugin"]
ASKED = services.GET_INFO.request()


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "s.sock"


def info(_: Any) -> Any:
    return services.GET_INFO.answer(type="DRAPlugin", name="gpu.example")


def ask(path: pathlib.Path, *, timeout_s: float = 10) -> Any:
    with channels.Channel(path) as channel:
        return channel.call(services.GET_INFO, ASKED, timeout_s=timeout_s)


def refused(call: Callable[[], Any]) -> calls.CallError:
    with pytest.raises(calls.CallError) as caught:
        call()
    return caught.value


def test_a_call_gets_its_answer_and_the_socket_goes_with_the_server(path: pathlib.Path) -> None:
    with servers.Server(path, {services.GET_INFO: info}):
        assert ask(path).name == "gpu.example"
    assert not path.exists()
    assert refused(lambda: ask(path)).code == "UNAVAILABLE"


def test_a_path_may_have_any_characters(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "50% of a é?#" / "s.sock"
    with servers.Server(path, {services.GET_INFO: info}):
        assert ask(path).name == "gpu.example"


def test_errors_have_code_and_message(path: pathlib.Path) -> None:
    def fail(_: Any) -> Any:
        raise calls.CallError("FAILED_PRECONDITION", "not yet")

    def break_down(_: Any) -> Any:
        raise ValueError("broken")

    handlers = {services.GET_INFO: fail, services.NOTIFY: break_down}
    with servers.Server(path, handlers), channels.Channel(path) as channel:
        for method, said in (
            (services.GET_INFO, ("FAILED_PRECONDITION", "not yet")),
            (services.NOTIFY, ("UNKNOWN", "broken")),
            (V1.prepare, ("UNIMPLEMENTED", "Method not found!")),
        ):
            error = refused(lambda m=method: channel.call(m, m.request(), timeout_s=10))
            assert (error.code, error.message) == said


def test_a_call_ends_at_its_deadline_and_a_server_does_not_wait_for_it(path: pathlib.Path) -> None:
    released = threading.Event()

    def hang(_: Any) -> Any:
        released.wait(60)
        return info(_)

    with servers.Server(path, {services.GET_INFO: hang}):
        assert refused(lambda: ask(path, timeout_s=0.2)).code == "DEADLINE_EXCEEDED"
        released.set()


def message(content: bytes) -> Any:
    """Stands for a message with any bytes."""
    return types.SimpleNamespace(SerializeToString=lambda: content)


def test_random_bytes_are_errors_and_nothing_else(path: pathlib.Path) -> None:
    stream, contents = random.Random(7), iter(())

    def nonsense(_: Any) -> Any:
        return message(next(contents))

    contents = iter([stream.randbytes(stream.randrange(1, 200)) for _ in range(400)])
    sent = [stream.randbytes(stream.randrange(1, 200)) for _ in range(400)]
    outcomes = set()
    handlers = {V1.prepare: nonsense, V1.unprepare: lambda _: V1.unprepare.answer()}
    with servers.Server(path, handlers), channels.Channel(path) as channel:
        for content in sent:  # answers that are nonsense, then requests
            for method, asked in ((V1.prepare, b""), (V1.unprepare, content)):
                try:
                    channel.call(method, message(asked), timeout_s=10)
                    outcomes.add("ok")
                except calls.CallError as error:
                    outcomes.add((error.code, error.message.partition(",")[0]))
    assert outcomes - {"ok"} == {
        ("INTERNAL", "expected a NodePrepareResourcesResponse"),
        ("INTERNAL", "expected a NodeUnprepareResourcesRequest"),
    }


def test_a_stale_socket_is_replaced_and_one_that_is_served_is_not(path: pathlib.Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    with servers.Server(path, {services.GET_INFO: info}):
        with pytest.raises(errors.UsageError, match="expected a socket that no process serves"):
            servers.Server(path, {})
        assert ask(path).name == "gpu.example"


def test_the_socket_of_a_successor_stays(path: pathlib.Path) -> None:
    first = servers.Server(path, {})
    path.unlink()
    with servers.Server(path, {services.GET_INFO: info}):
        first.stop()
        assert ask(path).name == "gpu.example"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a" * 200, "at most 107 bytes"),
        ("file", "expected a socket or nothing there"),
        ("file/s.sock", "expected a place for a socket"),
    ],
)
def test_paths_that_cannot_be_served_are_refused(
    tmp_path: pathlib.Path, name: str, words: str
) -> None:
    (tmp_path / "file").touch()
    before = threading.active_count()
    with pytest.raises(errors.UsageError, match=words):
        servers.Server(tmp_path / name, {})
    assert threading.active_count() == before


def test_the_longest_path_works(tmp_path: pathlib.Path) -> None:
    path = tmp_path / ("s" * (socket_paths.LENGTH_MAX - len(str(tmp_path)) - 1))
    with servers.Server(path, {services.GET_INFO: info}):
        assert ask(path).name == "gpu.example"


def test_nothing_is_left_after_many_channels_and_servers(path: pathlib.Path) -> None:
    def used() -> tuple[int, int]:
        return psutil.Process().num_fds(), threading.active_count()

    before = used()
    for _ in range(20):
        with servers.Server(path, {services.GET_INFO: info}):
            ask(path)

    def is_as_before() -> bool:
        return all(now <= then for now, then in zip(used(), before, strict=True))

    clocks.wait_until(is_as_before, timeout_s=30, why="files and threads are gone")
    assert list(path.parent.iterdir()) == []
