"""Exec plugins: real programs, asked when needed and not more often; and an API server that
believes them.
"""

import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

from harness import errors
from harness.client import apis, exec_credentials, kubeconfigs, transports

V1 = "client.authentication.k8s.io/v1"
PROGRAM = """
import json, os, pathlib, sys
calls = pathlib.Path(__file__).with_name("calls")
info = os.environ.get("KUBERNETES_EXEC_INFO")
with calls.open("a") as file:
    file.write(json.dumps({"info": json.loads(info), "argv": sys.argv[1:], "extra": os.environ.get("EXTRA")}) + chr(10))
answer = pathlib.Path(__file__).with_name("answer.json").read_text()
if answer.startswith("!"):
    sys.exit(answer[1:])
print(answer)
"""


class Program:
    """A plugin whose answer can be changed, and which says how it was called."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        self.path = folder / "login.py"
        self.path.write_text(PROGRAM)
        self.section: dict[str, Any] = {
            "apiVersion": V1,
            "command": sys.executable,
            "args": [str(self.path), "--fast"],
            "env": [{"name": "EXTRA", "value": "given"}],
            "interactiveMode": "Never",
        }

    def answer(self, status: Any, *, kind: str = "ExecCredential", version: str = V1) -> None:
        self.say(json.dumps({"kind": kind, "apiVersion": version, "status": status}))

    def say(self, text: str) -> None:
        (self._folder / "answer.json").write_text(text)

    @property
    def calls(self) -> list[dict[str, Any]]:
        path = self._folder / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def plugin(
        self, cluster: dict[str, Any] | None = None, **changes: Any
    ) -> exec_credentials.Plugin:
        section = {**self.section, **changes}
        return exec_credentials.Plugin(exec_credentials.read(section, cluster or {}, "kubeconfig"))


@pytest.fixture
def program(tmp_path: pathlib.Path) -> Program:
    made = Program(tmp_path)
    made.answer({"token": "first"})
    return made


def test_it_is_called_as_documented_and_once(program: Program) -> None:
    plugin = program.plugin({"server": "https://a:1", "proxy": "x"}, provideClusterInfo=True)
    assert plugin.current() == plugin.current() == exec_credentials.Credentials("first")
    (call,) = program.calls
    assert call["argv"] == ["--fast"]
    assert call["extra"] == "given"
    assert (call["info"]["apiVersion"], call["info"]["kind"]) == (V1, "ExecCredential")
    assert call["info"]["spec"] == {"interactive": False, "cluster": {"server": "https://a:1"}}


@pytest.mark.parametrize(
    ("expires", "calls"),
    [("2020-01-01T00:00:00Z", 2), ("2999-01-01T00:00:00+01:00", 1), (None, 1)],
)
def test_what_has_expired_is_asked_for_again(
    program: Program, expires: str | None, calls: int
) -> None:
    program.answer({"token": "first", "expirationTimestamp": expires})
    plugin = program.plugin()
    plugin.current()
    program.answer({"token": "second"})
    assert plugin.current().token == ("second" if calls == 2 else "first")
    assert len(program.calls) == calls


def test_what_was_refused_is_asked_for_again(program: Program) -> None:
    plugin = program.plugin()
    first = plugin.current()
    program.answer({"token": "second"})
    plugin.invalidate(first)
    assert plugin.current().token == "second"
    plugin.invalidate(first)  # a late refusal of another request
    assert plugin.current().token == "second"
    assert len(program.calls) == 2


@pytest.mark.parametrize(
    ("say", "message"),
    [
        ("!you are logged out", "exited with code 1: you are logged out"),
        ("nonsense", "not an ExecCredential in JSON"),
        ("[]", "not an ExecCredential in JSON"),
        ('{"kind": "Pod", "apiVersion": "v1"}', "not an ExecCredential in JSON"),
        ({}, "neither a token nor a certificate"),
        (
            {"token": "t", "clientCertificateData": "x"},
            "neither a token nor a certificate with its key",
        ),
        ({"token": "t", "expirationTimestamp": "soon"}, "status.expirationTimestamp"),
    ],
)
def test_answers_that_cannot_be_used(program: Program, say: Any, message: str) -> None:
    if isinstance(say, str):
        program.say(say)
    else:
        program.answer(say)
    with pytest.raises(errors.KubeconfigError) as caught:
        program.plugin().current()
    assert message in str(caught.value)
    assert str(caught.value).startswith(
        f"expected credentials from the exec plugin {sys.executable}"
    )


def test_a_plugin_that_is_not_there_says_how_to_get_it(program: Program) -> None:
    plugin = program.plugin(command="no-such-login", installHint="get it at the counter")
    with pytest.raises(errors.KubeconfigError, match="it was not found: get it at the counter"):
        plugin.current()


# ----------------------------------------------------------------------- with a server


@pytest.fixture
def kubeconfig(server: Any, program: Program, tmp_path: pathlib.Path) -> pathlib.Path:
    """The server's own kubeconfig with the plugin in place of the token."""
    document = json.loads(server.kubeconfig.read_text())
    document["users"][0]["user"] = {"exec": program.section}
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(document))
    return path


def test_a_server_believes_the_plugin_and_a_refusal_brings_a_new_token(
    server: Any,
    program: Program,
    kubeconfig: pathlib.Path,
    transport_to: Callable[[kubeconfigs.Endpoint], transports.HttpTransport],
) -> None:
    token = kubeconfigs.load(server.kubeconfig).identity.token
    api = apis.Api(transport_to(kubeconfigs.load(kubeconfig)))
    with pytest.raises(apis.ApiError) as caught:
        api.get(apis.NAMESPACES, "default")
    assert caught.value.code == 401
    program.answer({"token": token})
    assert api.get(apis.NAMESPACES, "default")["kind"] == "Namespace"
    assert len(program.calls) == 2


def test_a_plugin_that_fails_later_is_a_call_that_never_left(
    program: Program,
    kubeconfig: pathlib.Path,
    transport_to: Callable[[kubeconfigs.Endpoint], transports.HttpTransport],
) -> None:
    program.answer({"token": "wrong", "expirationTimestamp": "2020-01-01T00:00:00Z"})
    transport = transport_to(kubeconfigs.load(kubeconfig))
    program.say("!logged out")
    with pytest.raises(transports.TransportError, match="logged out") as caught:
        apis.Api(transport).get(apis.NAMESPACES, "default")
    assert caught.value.sent is False
