"""Drivers in a registry folder: how they come, are replaced and go, and how calls of them end."""

import contextlib
import pathlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import clocks, errors
from harness.cluster.dra import claim_infos, driver_calls
from harness.cluster.dra.plugins import socket_drivers, socket_plugins
from harness.cluster.kubelet_api import calls, preparations, services
from tests.support import driver_servers

TIMEOUT_S = 30
NODE = "worker-0"
CLAIM = {"metadata": {"namespace": "ns", "name": "c", "uid": "u"}}
INFO = claim_infos.ClaimInfo(namespace="ns", name="c", uid="u", devices=["gpu.example/p/d"])
Serve = Callable[..., driver_servers.DriverServer]


@pytest.fixture
def serve(folder: pathlib.Path) -> Iterator[Serve]:
    with contextlib.ExitStack() as made:

        def start(*arguments: Any, **options: Any) -> driver_servers.DriverServer:
            server = driver_servers.DriverServer(folder, *arguments, **options)
            made.callback(server.stop)
            return server

        yield start


@pytest.fixture
def drivers(folder: pathlib.Path) -> Iterator[socket_drivers.SocketDrivers]:
    made = socket_drivers.SocketDrivers(f"{folder}/registry", note=print)
    made.start([NODE])
    yield made
    made.stop()


def wait(drivers: socket_drivers.SocketDrivers, driver: str = driver_servers.DRIVER) -> Any:
    drivers.wait_registered([driver], [NODE], timeout_s=TIMEOUT_S)
    return drivers.plugin(driver, NODE)


def wait_gone(drivers: socket_drivers.SocketDrivers) -> None:
    def is_gone() -> bool:
        with contextlib.suppress(preparations.PreparationError):
            drivers.plugin(driver_servers.DRIVER, NODE)
            return False
        return True

    clocks.wait_until(is_gone, timeout_s=TIMEOUT_S, why="the driver to be gone")


def wait_calls(server: driver_servers.DriverServer, drivers: Any) -> None:
    """Call until a call reaches this instance."""

    def is_called() -> bool:
        with contextlib.suppress(preparations.PreparationError):
            drivers.plugin(driver_servers.DRIVER, NODE).prepare([CLAIM])
        return bool(server.calls)

    clocks.wait_until(is_called, timeout_s=TIMEOUT_S, why="a call of the instance")


@pytest.mark.parametrize(
    ("versions", "service"),
    [
        (("v1.DRAPlugin", "v1beta1.DRAPlugin"), "v1.DRAPlugin"),
        (("v1alpha1.Other", "v1beta1.DRAPlugin"), "v1beta1.DRAPlugin"),
    ],
)
def test_a_driver_registers_and_is_called(
    serve: Serve, drivers: Any, versions: tuple[str, ...], service: str
) -> None:
    server = serve(versions=versions)
    plugin = wait(drivers)
    assert server.told.wait(TIMEOUT_S)
    assert server.statuses == [(True, "")]
    prepared = plugin.prepare([CLAIM])["u"]
    assert prepared[0].cdi_device_ids == ("v/c=d",)
    assert plugin.unprepare([INFO]) == {"u": None}
    assert server.calls == [(service, "prepare", ["u"]), (service, "unprepare", ["u"])]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "CSIPlugin"}, "no handler registered for plugin type: CSIPlugin at socket"),
        ({"versions": ()}, "empty list of supported gRPC services (aka supported versions)"),
        (
            {"versions": ("v9.DRAPlugin",)},
            'the plugin (["v9.DRAPlugin"]) are supported by the kubelet (["v1.DRAPlugin" "v1beta1',
        ),
        ({"told_endpoint": f"/{'x' * 120}"}, "at most 107 bytes"),
    ],
)
def test_a_driver_that_cannot_be_used_is_told_why(
    serve: Serve, drivers: Any, options: dict[str, Any], words: str
) -> None:
    server = serve(**options)
    assert server.told.wait(TIMEOUT_S)
    is_registered, error = server.statuses[-1]
    assert not is_registered
    assert words in error
    with pytest.raises(preparations.PreparationError, match=r"^DRA driver gpu.example is not reg"):
        drivers.plugin(driver_servers.DRIVER, NODE)
    with pytest.raises(errors.ClusterError) as caught:
        drivers.wait_registered([driver_servers.DRIVER], [NODE], timeout_s=0.3)
    assert words in str(caught.value)


def test_a_driver_that_never_comes_is_told_in_one_sentence(drivers: Any) -> None:
    with pytest.raises(errors.ClusterError, match=r"expected driver gpu.example to register on"):
        drivers.wait_registered([driver_servers.DRIVER], [NODE], timeout_s=0.1)


def test_a_driver_goes_with_its_socket(serve: Serve, drivers: Any) -> None:
    server = serve()
    plugin = wait(drivers)
    server.stop()
    wait_gone(drivers)
    with pytest.raises(driver_calls.CallFailedError) as caught:
        plugin.prepare([CLAIM])
    assert caught.value.code in ("Canceled", "Unavailable")


def test_a_socket_that_is_replaced_registers_again(serve: Serve, drivers: Any) -> None:
    first = serve()
    wait(drivers)
    first.stop()
    second = serve()
    assert second.told.wait(TIMEOUT_S)
    assert second.statuses == [(True, "")]
    wait_calls(second, drivers)


def test_of_two_instances_the_newest_that_answers_is_called(serve: Serve, drivers: Any) -> None:
    """A rolling update; then the new one crashes, and leaves its sockets."""
    old = serve("-old")
    wait(drivers).prepare([CLAIM])
    new = serve("-new")
    wait_calls(new, drivers)
    before = len(old.calls)
    drivers.plugin(driver_servers.DRIVER, NODE).prepare([CLAIM])
    assert len(old.calls) == before
    new.stop_endpoint()
    drivers.plugin(driver_servers.DRIVER, NODE).prepare([CLAIM])
    assert len(old.calls) == before + 1


def test_an_instance_cannot_take_the_endpoint_of_another_one(serve: Serve, drivers: Any) -> None:
    first = serve("-1")
    wait(drivers)
    second = serve("-2", endpoint=first.endpoint)
    assert second.told.wait(TIMEOUT_S)
    assert "already registered for DRA driver plugin gpu.example" in second.statuses[0][1]
    assert first.statuses == [(True, "")]


def test_a_socket_that_answers_nothing_is_tried_again(
    serve: Serve, drivers: Any, monkeypatch: pytest.MonkeyPatch, folder: pathlib.Path
) -> None:
    answers = threading.Event()
    server = serve()
    good = server._info

    def info(asked: Any) -> Any:
        if not answers.is_set():
            answers.set()
            raise calls.CallError("UNAVAILABLE", "not yet")
        return good(asked)

    server.stop()
    monkeypatch.setattr(server, "_info", info)
    server.start()
    wait(drivers)
    assert answers.is_set()


def test_files_that_are_no_sockets_are_left_alone(
    drivers: Any, folder: pathlib.Path, serve: Serve
) -> None:
    (folder / "registry" / "notes.txt").write_text("x")
    (folder / "registry" / ".hidden").mkdir()
    serve("/x")  # in a folder of its own
    wait(drivers)


def test_calls_of_a_driver_that_hangs_end(folder: pathlib.Path, serve: Serve) -> None:
    server, ended = serve(), threading.Event()
    server.answer = lambda good: ended.wait(TIMEOUT_S) and good
    plugin = socket_plugins.SocketPlugin(
        server.driver, server.endpoint, services.DRA["v1.DRAPlugin"], call_s=0.2
    )
    with pytest.raises(driver_calls.CallFailedError) as caught:
        plugin.prepare([CLAIM])
    ended.set()
    plugin.close()
    assert caught.value.code == "DeadlineExceeded"
    assert str(caught.value).startswith("rpc error: code = DeadlineExceeded desc =")


def test_errors_of_a_driver_are_those_of_its_claims(serve: Serve, drivers: Any) -> None:
    def fail(good: Any) -> Any:
        good.claims["u"].error = "no such device"
        return good

    serve().answer = fail
    plugin = wait(drivers)
    for answers in (plugin.prepare([CLAIM]), plugin.unprepare([INFO])):
        assert str(answers["u"]) == "no such device"
        assert answers["u"].reason == preparations.DRIVER_ERROR


def test_a_large_answer_fails_one_call(serve: Serve, drivers: Any) -> None:
    def enlarge(good: Any) -> Any:
        good.claims["u"].error = "x" * (5 << 20)
        return good

    server = serve()
    server.answer = enlarge
    plugin = wait(drivers)
    with pytest.raises(driver_calls.CallFailedError) as caught:
        plugin.prepare([CLAIM])
    assert caught.value.code == "ResourceExhausted"
    server.answer = lambda good: good
    assert plugin.unprepare([INFO]) == {"u": None}
