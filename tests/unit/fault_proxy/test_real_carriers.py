"""Faults end to end: real processes, with the same requests to the proxy and to the API server.

The conversations of the proxy and the scripts of the API server show the rest, without processes.
"""

import contextlib
import http.client
import json
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import pytest

from harness import clocks
from harness.client import apis, transports
from tests.unit.fault_proxy import proxies

AGE_S = 0.3
CREATES = {"verbs": ["create"], "resource": "configmaps", "clients": ["scheduler"]}
FACTS = {
    "verb": "create",
    "path": proxies.PATH,
    "userAgent": "tests",
    "client": "scheduler",
    "resource": "configmaps",
    "subresource": "",
    "namespace": "default",
    "eventType": "",
}
WRITER = """
import pathlib, sys
from tests.unit.fault_proxy import proxies, test_real_carriers
proxy = proxies.Proxy(pathlib.Path(sys.argv[1]), None)
test_real_carriers.post(proxy, "orphan")
"""


def post(carrier: proxies.Proxy, name: str, client: str = proxies.SCHEDULER) -> int:
    """Create an object; return the code of the response, 0 without a whole one."""
    body = json.dumps(proxies.config_map(name)).encode()
    headers = {"Content-Type": "application/json", "User-Agent": "tests"}
    try:
        response, _ = proxies.request(
            carrier.kubeconfig(client), "POST", proxies.PATH, body, **headers
        )
    except (ConnectionError, http.client.IncompleteRead):
        return 0
    return response.status


def test_every_verb_passes(proxy: proxies.Proxy, server: apis.Api) -> None:
    with proxy.api() as api:
        made = proxies.create(api, "verbs", a="b")
        assert made == server.get(proxies.CONFIG_MAPS, "verbs", namespace="default")
        assert api.get(proxies.CONFIG_MAPS, "verbs", namespace="default") == made
        assert "verbs" in proxies.names(api)
        updated = api.update(proxies.CONFIG_MAPS, {**made, "data": {"a": "c"}})
        assert updated["data"] == {"a": "c"}
        patched = api.patch(proxies.CONFIG_MAPS, "verbs", {"data": {"d": "e"}}, namespace="default")
        assert patched["data"] == {"a": "c", "d": "e"}
        api.delete(proxies.CONFIG_MAPS, "verbs", namespace="default")
        with pytest.raises(apis.ApiError) as raised:
            api.get(proxies.CONFIG_MAPS, "verbs", namespace="default")
        assert raised.value.is_not_found


@pytest.mark.parametrize(
    ("point", "action", "code", "is_made"),
    [
        ("request", {"type": "lose"}, 0, False),
        ("request", {"type": "reject", "code": 429}, 429, False),
        ("request", {"type": "delay", "seconds": 0.1}, 201, True),
        ("request", {"type": "block"}, 201, True),
        ("response", {"type": "lose"}, 0, True),
        ("response", {"type": "reject", "code": 504}, 504, True),
        ("response", {"type": "truncate"}, 0, True),
        ("response", {"type": "block"}, 201, True),
    ],
)
def test_a_write_is_struck(
    carrier: proxies.Proxy,
    server: apis.Api,
    point: str,
    action: dict[str, Any],
    code: int,
    is_made: bool,
) -> None:
    fault = carrier.add(point, action, match=CREATES, count=1)
    assert post(carrier, "of-another", proxies.KUBELET) == 201
    with futures.ThreadPoolExecutor() as pool:
        posted = pool.submit(post, carrier, "struck")
        if action["type"] == "block":
            carrier.wait_held(fault)
            assert ("struck" in proxies.names(server)) is (point == "response")
            carrier.release(fault)
        assert posted.result(proxies.TIMEOUT_S) == code
    assert ("struck" in proxies.names(server)) is is_made
    (applied,) = carrier.applied(fault)
    facts, lasted_s = applied["facts"], 0.1 * (action["type"] == "delay")
    assert applied["ended"]["monotonicNs"] - applied["begun"]["monotonicNs"] >= lasted_s * 1e9
    uid, version = facts.pop("uid"), facts.pop("resourceVersion")
    assert facts == FACTS | {"name": "struck"}
    if point == "response":
        made = server.get(proxies.CONFIG_MAPS, "struck", namespace="default")["metadata"]
        assert (uid, version) == (made["uid"], int(made["resourceVersion"]))
    assert post(carrier, "later") == 201


def test_a_held_write_arrives_after_its_client_was_killed(
    carrier: proxies.Proxy, server: apis.Api
) -> None:
    name = carrier.add("request", {"type": "block"}, match=CREATES)
    client = subprocess.Popen([sys.executable, "-c", WRITER, str(carrier.folder)])
    try:
        carrier.wait_held(name)
    finally:
        client.kill()
        client.wait()
    assert "orphan" not in proxies.names(server)
    carrier.release(name)
    clocks.wait_until(
        lambda: "orphan" in proxies.names(server),
        timeout_s=proxies.TIMEOUT_S,
        why="the write to arrive",
    )


# --------------------------------------------------------------------- watches


@contextlib.contextmanager
def watching(api: apis.Api) -> Iterator[Callable[[], str]]:
    """Give what tells the next event of a watch but bookmarks, or how the watch ends."""
    version = api.list(proxies.CONFIG_MAPS, namespace="default").resource_version
    watch = api.watch(proxies.CONFIG_MAPS, resource_version=version, namespace="default")
    lines = iter(watch)

    def told() -> str:
        try:
            events = (json.loads(line) for line in lines)
            event = next((it for it in events if it["type"] != "BOOKMARK"), None)
        except transports.TransportError:
            return "broken"
        meta = event["object"]["metadata"] if event else {}
        return f"{event['type']} {meta.get('name', '')}".strip() if event else "end"

    try:
        yield told
    finally:
        watch.close()
        with contextlib.suppress(transports.TransportError):
            list(lines)  # its end closes the socket


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ({"type": "delay", "seconds": 0.2}, ["ADDED b", "ADDED c"]),
        ({"type": "block"}, ["ADDED b", "ADDED c"]),
        ({"type": "drop"}, ["broken"]),
        ({"type": "truncate"}, ["broken"]),
        ({"type": "gone"}, ["ERROR", "end"]),
        ({"type": "gone", "held": True}, ["ERROR", "end"]),
    ],
)
def test_a_watch_is_struck(
    carrier: proxies.Proxy, server: apis.Api, action: dict[str, Any], expected: list[str]
) -> None:
    fault = carrier.add("event", action, match={"resource": "configmaps"}, skip=1, count=1)
    with carrier.api() as api, watching(api) as told:
        proxies.create(server, "a")
        assert told() == "ADDED a"
        for name in "bc":
            proxies.create(server, name)
        if action.keys() == {"type", "held"} or action["type"] == "block":
            carrier.wait_held(fault)
            carrier.release(fault)
        assert [told() for _ in expected] == expected
    (applied,) = carrier.applied(fault)
    of_event = {"verb": "watch", "userAgent": applied["facts"]["userAgent"], "eventType": "ADDED"}
    made = server.get(proxies.CONFIG_MAPS, "b", namespace="default")["metadata"]
    of_event |= {"uid": made["uid"], "resourceVersion": int(made["resourceVersion"])}
    assert applied["ended"]
    assert applied["facts"] == FACTS | of_event | {"name": "b"}


def test_a_slow_client_does_not_stop_the_others(carrier: proxies.Proxy, server: apis.Api) -> None:
    """It reads nothing; the proxy stops to read its watch, and keeps a bounded part of it."""
    path = f"{proxies.PATH}?watch=1&resourceVersion=1"
    with proxies.connection(carrier.kubeconfig()) as (connection, common), carrier.api() as api:
        connection.request("GET", path, headers=common)
        with watching(api) as told:
            for number in range(60):
                proxies.create(server, f"slow-{number}", text="x" * 200_000)
            assert [told() for _ in range(60)] == [f"ADDED slow-{number}" for number in range(60)]


# ----------------------------------------------------------------- stale reads


def reads(api: apis.Api) -> list[str]:
    """Return what a get and a list show of one object, if they may be stale."""
    path = proxies.CONFIG_MAPS.path("default", "stale") + "?resourceVersion=0"
    listed = api.list(proxies.CONFIG_MAPS, namespace="default", is_cached=True).items
    return [item["data"]["a"] for item in [api._call("GET", path), *listed]]


def change(server: apis.Api) -> None:
    server.patch(proxies.CONFIG_MAPS, "stale", {"data": {"a": "new"}}, namespace="default")


def test_reads_show_the_past(carrier: proxies.Proxy, server: apis.Api) -> None:
    proxies.create(server, "stale", a="old")
    match = {"resource": "configmaps", "verbs": ["get", "list"]}
    name = carrier.add("request", {"type": "stale", "seconds": AGE_S}, match=match)
    clocks.sleep(3 * AGE_S)  # a version of that age is known then
    with carrier.api() as api:
        assert (reads(api), carrier.applied(name)) == (["old"] * 2, []), "it has not changed"
        change(server)
        assert reads(api) == ["old"] * 2
        assert [item["facts"]["verb"] for item in carrier.applied(name)] == ["list", "get"]
        carrier.clear()
        assert reads(api) == ["new"] * 2


@pytest.mark.parametrize("carrier", ["proxy"], indirect=True)
def test_versions_that_are_noted_from_the_start_serve_a_fault_at_once(
    carrier: proxies.Proxy, server: apis.Api, folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    proxies.create(server, "stale", a="old")
    with (
        proxies.running(tmp_path, folder / "tls", notes_versions=True) as proxy,
        proxy.api() as api,
    ):
        clocks.sleep(3 * AGE_S)
        change(server)
        proxy.add("request", {"type": "stale", "seconds": AGE_S}, match={"verbs": ["get"]})
        assert reads(api) == ["old", "new"]
