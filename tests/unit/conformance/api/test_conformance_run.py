"""The embedded server keeps the rules, and servers that break them are found out."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from harness.client import transports
from harness.conformance.api import conformance_run, rulebooks

GROUPS = {group.name: group for group in rulebooks.groups()}
NAMESPACES = transports.Request(method="GET", path="/api/v1/namespaces")


def judge(transport: Any, *names: str) -> list[conformance_run.Result]:
    return list(conformance_run.judge(transport, [r for name in names for r in GROUPS[name].rules]))


def failed(results: list[conformance_run.Result]) -> set[str]:
    return {result.rule.name for result in results if result.failure is not None}


@pytest.mark.parametrize("name", sorted(GROUPS))
def test_the_embedded_server_keeps_the_rules(name: str, transport: transports.Transport) -> None:
    results = judge(transport, name)
    broken = {r.rule.name: r.failure for r in results if r.failure}
    assert not broken
    skipped = {result.rule.needs for result in results if result.skipped}
    assert skipped <= {"forgotten-past"}


def test_nothing_is_left_behind(transport: transports.Transport) -> None:
    assert not failed(judge(transport, "generateName"))
    names = [
        item["metadata"]["name"]
        for item in json.loads(transport.send(NAMESPACES).body)["items"]
        if item["status"]["phase"] == "Active"
    ]
    assert not [name for name in names if name.startswith("flake-hunt-conformance-")]


class Distorted:
    """A server of which something is wrong."""

    def __init__(self, inner: transports.Transport) -> None:
        self._inner = inner

    def send(self, request: transports.Request) -> transports.Response:
        return self._inner.send(request)

    def watch(self, request: transports.Request) -> transports.Watch:
        return self._inner.watch(request)

    def close(self) -> None:
        return


class LastWriterWins(Distorted):
    def send(self, request: transports.Request) -> transports.Response:
        if request.method == "PUT" and request.body:
            document = json.loads(request.body)
            document["metadata"].pop("resourceVersion", None)
            body = json.dumps(document).encode()
            request = transports.Request(method="PUT", path=request.path, body=body)
        return super().send(request)


class ForgetfulWatch(Distorted):
    class Watch:
        def __init__(self, inner: transports.Watch) -> None:
            self._inner, self.status = inner, inner.status

        def __iter__(self) -> Iterator[bytes]:
            return (line for number, line in enumerate(self._inner) if number != 1)

        def close(self) -> None:
            self._inner.close()

    def watch(self, request: transports.Request) -> transports.Watch:
        short = request.path.replace("timeoutSeconds=20", "timeoutSeconds=1")
        return self.Watch(super().watch(transports.Request(method="GET", path=short)))


class Unselective(Distorted):
    def send(self, request: transports.Request) -> transports.Response:
        path = request.path.replace("labelSelector=", "ignored=")
        return super().send(
            transports.Request(
                method=request.method,
                path=path,
                body=request.body,
                content_type=request.content_type,
            )
        )


@pytest.mark.parametrize(
    ("server", "group", "rule"),
    [
        (
            LastWriterWins,
            "concurrency",
            "an update with an old version is rejected and changes nothing",
        ),
        (ForgetfulWatch, "watches", "a watch returns all changes after a version in order"),
        (Unselective, "selectors", "by equality"),
    ],
)
def test_a_server_that_breaks_a_rule_is_found_out(
    server: Any, group: str, rule: str, transport: transports.Transport
) -> None:
    results = judge(server(transport), group)
    (found,) = [result for result in results if result.rule.name == rule]
    assert found.failure is not None
    assert found.failure.shortcomings


def test_a_server_that_gives_no_namespace_is_an_error(transport: transports.Transport) -> None:
    class Closed(Distorted):
        def send(self, request: transports.Request) -> transports.Response:
            return transports.Response(403, b'{"message":"not you"}')

    with pytest.raises(Exception, match=r"expected to create a namespace.*403"):
        judge(Closed(transport), "leases")
