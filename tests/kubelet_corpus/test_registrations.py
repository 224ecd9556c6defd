"""Our kubelet registers drivers with the same words, in the same order, as a real one did."""

import contextlib
import json
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf import json_format

from harness import clocks
from harness.cluster.dra.plugins import socket_drivers, socket_plugins
from harness.cluster.kubelet_api import calls, servers, services

Socket = dict[str, Any]
CORPUS = pathlib.Path(__file__).with_name("registrations.jsonl")
CASES = {case["registration"]: case for case in map(json.loads, CORPUS.read_text().splitlines())}
TIMEOUT_S = 30


@pytest.fixture
def folder() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(prefix="fh-") as path:  # a short one: it has sockets
        (pathlib.Path(path) / "plugins_registry").mkdir()
        yield pathlib.Path(path)


class Plugin:
    """Answers as recorded, and notes what it is asked; the last answers are repeated."""

    def __init__(self, folder: pathlib.Path, recorded: Socket) -> None:
        self._folder = folder
        self.expected = [self._placed(step) for step in recorded["steps"]]
        self.asked: list[Socket] = []
        self._left = list(self.expected)

    def handlers(self) -> dict[services.Method, Any]:
        methods = (services.GET_INFO, services.NOTIFY)
        return {method: self._handler(method) for method in methods}

    def dialogue(self) -> list[tuple[str, Any]]:
        return [(step["method"], step["request"]) for step in self.asked[: len(self.expected)]]

    def _handler(self, method: services.Method) -> Any:
        def answer(request: Any) -> Any:
            words = json_format.MessageToDict(request, preserving_proto_field_name=True)
            self.asked.append({"method": method.path.rpartition("/")[2], "request": words})
            step = self._left.pop(0) if self._left else self.expected[-1]
            if "error" in step:
                raise calls.CallError("UNKNOWN", step["error"])
            return json_format.ParseDict(
                step["answer"], method.answer(), ignore_unknown_fields=True
            )

        return answer

    def _placed(self, step: Socket) -> Socket:
        text = json.dumps(step).replace("{folder}", str(self._folder))
        placed: Socket = json.loads(text)
        return placed


@pytest.mark.parametrize("name", sorted(CASES))
def test_a_driver_is_told_the_same(name: str, folder: pathlib.Path) -> None:
    notes: list[str] = []
    registry = socket_drivers.Registry(folder / "plugins_registry", note=notes.append)
    with contextlib.ExitStack() as served:
        for recorded in CASES[name]["sockets"]:
            plugin = Plugin(folder, recorded)
            path = folder / "plugins_registry" / recorded["socket"]
            served.enter_context(servers.Server(path, plugin.handlers()))

            def is_done(plugin: Plugin = plugin) -> bool:
                registry.look()
                return len(plugin.asked) >= len(plugin.expected)

            clocks.wait_until(is_done, timeout_s=TIMEOUT_S, why=f"{recorded['socket']}: {notes}")
            assert plugin.dialogue() == [
                (step["method"], step["request"]) for step in plugin.expected
            ]
    registry.close()


@pytest.mark.parametrize("name", ["registration-beta-first", "registration-beta-only"])
def test_the_first_version_that_both_know_is_used(name: str, folder: pathlib.Path) -> None:
    recorded = CASES[name]["sockets"][0]
    path = folder / "plugins_registry" / recorded["socket"]
    with servers.Server(path, Plugin(folder, recorded).handlers()):
        found: list[socket_plugins.SocketPlugin] = []
        socket_plugins.register(path, found.append)
    assert [plugin.service.name for plugin in found] == [recorded["service"]]
