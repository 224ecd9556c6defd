"""The log of the cluster's own scheduler, from an API server that serves logs as Kubernetes
does.
"""

import json
import pathlib
import urllib.parse
from typing import Any

import pytest

from harness.client import transports
from harness.run import cluster_logs

PODS = {"items": [{"metadata": {"name": f"kube-scheduler-{n}"}} for n in ("a", "b")]}
FORBIDDEN = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no logs for you"}


class Answering:
    """A transport with given answers, which remembers what it was asked."""

    def __init__(self, pods: Any, logs: dict[str, tuple[int, bytes]]) -> None:
        self._pods, self._logs = pods, logs
        self.queries: list[dict[str, list[str]]] = []

    def send(self, request: transports.Request) -> transports.Response:
        path, _, query = request.path.partition("?")
        self.queries.append(urllib.parse.parse_qs(query))
        if path == "/api/v1/namespaces/kube-system/pods":
            return transports.Response(200, json.dumps(self._pods).encode())
        name = path.removeprefix("/api/v1/namespaces/kube-system/pods/").removesuffix("/log")
        return transports.Response(*self._logs[name])

    def watch(self, request: transports.Request) -> transports.Watch:
        raise NotImplementedError

    def close(self) -> None:
        """Nothing is open."""


def fetched(tmp_path: pathlib.Path, transport: Answering) -> str:
    into = tmp_path / "scheduler.log"
    cluster_logs.fetch(transport, into, since_wall_ns=1_700_000_000 * 10**9)
    return into.read_text()


def test_all_of_its_pods_since_the_run_was_planned(tmp_path: pathlib.Path) -> None:
    logs = {"kube-scheduler-a": (200, b"one\n"), "kube-scheduler-b": (200, b"two\n")}
    transport = Answering(PODS, logs)
    assert fetched(tmp_path, transport) == "one\ntwo\n"
    selected, *asked = transport.queries
    assert selected == {"labelSelector": ["component=kube-scheduler"]}
    assert asked == [{"sinceTime": ["2023-11-14T22:13:20Z"]}] * 2


@pytest.mark.parametrize(
    ("pods", "said"),
    [
        ({"items": []}, "(no pod of kube-system has the label component=kube-scheduler)"),
        (PODS, "(the log could not be read: 403 Forbidden: no logs for you)"),
    ],
)
def test_what_cannot_be_had_is_said(tmp_path: pathlib.Path, pods: Any, said: str) -> None:
    refused = (403, json.dumps(FORBIDDEN).encode())
    transport = Answering(pods, dict.fromkeys(("kube-scheduler-a", "kube-scheduler-b"), refused))
    assert fetched(tmp_path, transport).strip() == said
