"""Impersonation: the headers that reach the server."""

import pathlib
from typing import Any

import pytest

from harness.client import kubeconfigs, transports
from tests.support import http_answers, written_kubeconfigs

USER = {
    "token": "t",
    "as": "jané",
    "as-uid": "0a-1b",
    "as-groups": ["system:authenticated", "dev, ops"],
    "as-user-extra": {"scopes": ["view", "edit"], "acme.com/Project%": ["x"]},
}


def sent(request: bytes) -> list[tuple[str, str]]:
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return [(name, value) for name, _, value in (line.partition(": ") for line in lines)]


@pytest.mark.parametrize("call", ["send", "watch"])
def test_every_request_names_the_user(scripted: Any, tmp_path: pathlib.Path, call: str) -> None:
    seen: list[bytes] = []
    server = scripted(http_answers.answering(http_answers.OK, seen))
    server_url = f"http://127.0.0.1:{server.port}"
    path = written_kubeconfigs.write(tmp_path / "config", server_url, user=USER)
    transport = transports.HttpTransport(kubeconfigs.load(path))
    answer = getattr(transport, call)(transports.Request(method="GET", path="/api/v1/pods"))
    assert answer.status == 200
    if call == "watch":
        assert list(answer) == [b"{}"]
    transport.close()
    headers = sent(seen[0])
    assert dict(headers)["Authorization"] == "Bearer t"
    assert [pair for pair in headers if pair[0].startswith("Impersonate")] == [
        ("Impersonate-User", "jané"),
        ("Impersonate-Uid", "0a-1b"),
        ("Impersonate-Group", "system:authenticated"),
        ("Impersonate-Group", "dev, ops"),
        ("Impersonate-Extra-scopes", "view"),
        ("Impersonate-Extra-scopes", "edit"),
        ("Impersonate-Extra-acme.com%2FProject%25", "x"),
    ]
    assert len(headers) == len({name for name, _ in headers}) + 2, "nothing else is sent twice"
