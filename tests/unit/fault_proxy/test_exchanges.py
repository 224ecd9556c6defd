"""Requests through the proxy. And what faults do to requests, there and in the server itself."""

import http.client
import json
import pathlib
import subprocess
import sys
from concurrent import futures

import pytest

from harness import clocks
from harness.client import apis, transports
from harness.model.objects import Object
from tests.unit.fault_proxy import proxies

WRITER = """
import pathlib, sys
from harness.client import transports
transport = transports.connect(pathlib.Path(sys.argv[1]))
body = sys.argv[2].encode()
transport.send(transports.Request(
    method="POST", path="/api/v1/namespaces/default/configmaps", body=body))
"""
CREATES = {"verbs": ["create"], "resource": "configmaps", "clients": ["scheduler"]}


def create(carrier: proxies.Proxy, name: str) -> Object:
    with carrier.api() as api:
        return proxies.create(api, name)


# -------------------------------------------------------------- without faults


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


def test_a_head_has_the_length_and_no_body(proxy: proxies.Proxy) -> None:
    path = "/healthz"
    got, body = proxies.request(proxy.kubeconfig(), "GET", path)
    head, nothing = proxies.request(proxy.kubeconfig(), "HEAD", path)
    assert (head.status, nothing) == (200, b"")
    assert head.headers["Content-Length"] == got.headers["Content-Length"] == str(len(body))


def test_a_protobuf_body_passes_byte_for_byte(
    proxy: proxies.Proxy, server: apis.Api, folder: pathlib.Path
) -> None:
    made = proxies.create(server, "protobuf", a="b")
    path = f"{proxies.PATH}/protobuf"
    _, got = proxies.request(proxy.kubeconfig(), "GET", path, Accept=proxies.PROTOBUF)
    assert proxies.request(folder / "tls", "GET", path, Accept=proxies.PROTOBUF)[1] == got
    changed = got.replace(b"\n\x01a\x12\x01b", b"\n\x01a\x12\x01c")  # data: a=c
    headers = {"Accept": proxies.PROTOBUF, "Content-Type": proxies.PROTOBUF}
    response, _ = proxies.request(proxy.kubeconfig(), "PUT", path, changed, **headers)
    assert response.status == 200
    stored = server.get(proxies.CONFIG_MAPS, "protobuf", namespace="default")
    assert (stored["metadata"]["uid"], stored["data"]) == (made["metadata"]["uid"], {"a": "c"})


def test_a_chunked_request_arrives_whole(proxy: proxies.Proxy, server: apis.Api) -> None:
    body = json.dumps(proxies.config_map("chunked", text="x" * 200_000)).encode()
    with proxies.connection(proxy.kubeconfig()) as (connection, common):
        pieces = (body[at : at + 10_000] for at in range(0, len(body), 10_000))
        connection.request(
            "POST",
            proxies.PATH,
            pieces,
            {**common, "Content-Type": "application/json"},
            encode_chunked=True,
        )
        assert connection.getresponse().status == 201
    assert "chunked" in proxies.names(server)


def test_a_request_without_the_token_of_its_client_is_refused(proxy: proxies.Proxy) -> None:
    with (
        proxies.connection(proxy.kubeconfig(proxies.KUBELET)) as (_, others),
        proxies.connection(proxy.kubeconfig()) as (connection, _),
    ):
        for authorization in ("", "Bearer wrong", others["Authorization"]):
            connection.request("GET", "/api", headers={"Authorization": authorization})
            response = connection.getresponse()
            assert (response.status, json.loads(response.read())["reason"]) == (401, "Unauthorized")


def test_an_upgrade_is_refused(proxy: proxies.Proxy) -> None:
    upgrade = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
    response, body = proxies.request(
        proxy.kubeconfig(), "POST", "/api/v1/namespaces/default/pods/a/exec?command=ls", **upgrade
    )
    assert response.status == 501
    assert "use the cluster's own kubeconfig for exec" in json.loads(body)["message"]


# ---------------------------------------------------- with faults, on each carrier


def test_a_rejected_write_is_not_carried_out(carrier: proxies.Proxy, server: apis.Api) -> None:
    action = {"type": "reject", "code": 429, "reason": "TooManyRequests", "retryAfterSeconds": 7}
    name = carrier.add("request", action, match=CREATES, count=1)
    body = json.dumps(proxies.config_map("rejected")).encode()
    response, status = proxies.request(
        carrier.kubeconfig(),
        "POST",
        proxies.PATH,
        body,
        **{"Content-Type": "application/json", "User-Agent": "tests"},
    )
    assert (response.status, response.headers["Retry-After"]) == (429, "7")
    assert json.loads(status)["details"] == {"retryAfterSeconds": 7}
    assert "rejected" not in proxies.names(server)
    (applied,) = carrier.applied(name)
    applied["facts"].pop("resourceVersion")  # of a request not the same in both
    assert applied["facts"] == {
        "verb": "create",
        "path": proxies.PATH,
        "userAgent": "tests",
        "client": "scheduler",
        "resource": "configmaps",
        "subresource": "",
        "namespace": "default",
        "name": "rejected",
        "uid": "",
        "eventType": "",
    }


def test_a_fault_of_one_client_spares_the_other(carrier: proxies.Proxy, server: apis.Api) -> None:
    carrier.add("request", {"type": "lose"}, match=CREATES)
    with carrier.api(proxies.KUBELET) as api:
        proxies.create(api, "spared")
    with carrier.api() as api, pytest.raises(transports.TransportError):
        proxies.create(api, "hit")
    assert "spared" in proxies.names(server)


@pytest.mark.parametrize(
    ("point", "action", "code"),
    [
        ("request", {"type": "lose"}, 0),
        ("response", {"type": "lose"}, 0),
        ("response", {"type": "reject", "code": 504, "reason": "Timeout"}, 504),
    ],
)
def test_a_write_is_carried_out_if_its_response_is_struck(
    carrier: proxies.Proxy, server: apis.Api, point: str, action: Object, code: int
) -> None:
    written = f"{action['type']}-{point}"
    name = carrier.add(point, action, match=CREATES, count=1)
    with carrier.api() as api:
        with pytest.raises((apis.ApiError, transports.TransportError)) as raised:
            proxies.create(api, written)
        assert getattr(raised.value, "code", 0) == code
        facts = carrier.applied(name)[0]["facts"]
        if point == "request":
            assert written not in proxies.names(server)
            proxies.create(api, written)
            return
    made = server.get(proxies.CONFIG_MAPS, written, namespace="default")["metadata"]
    assert (facts["uid"], facts["resourceVersion"]) == (made["uid"], int(made["resourceVersion"]))


@pytest.mark.parametrize("point", ["request", "response"])
def test_what_is_blocked_waits_for_its_release(
    carrier: proxies.Proxy, server: apis.Api, point: str
) -> None:
    written = f"blocked-{point}"
    name = carrier.add(point, {"type": "block"}, match=CREATES)
    with futures.ThreadPoolExecutor() as pool:
        made = pool.submit(create, carrier, written)
        carrier.wait_held(name)
        assert (written in proxies.names(server)) is (point == "response")
        if point == "request":
            carrier.release(name)
        else:
            carrier.clear()
        assert made.result(proxies.TIMEOUT_S)["metadata"]["name"] == written
    if point == "request":
        assert carrier.applied(name)[0]["ended"] is not None


def test_the_facts_of_a_protobuf_response_are_read(
    carrier: proxies.Proxy, server: apis.Api
) -> None:
    made = proxies.create(server, "read-as-protobuf")["metadata"]
    name = carrier.add("response", {"type": "lose"}, match={"name": "read-as-protobuf"}, count=1)
    path = f"{proxies.PATH}/read-as-protobuf"
    with pytest.raises(http.client.RemoteDisconnected):
        proxies.request(carrier.kubeconfig(), "GET", path, Accept=proxies.PROTOBUF)
    facts = carrier.applied(name)[0]["facts"]
    assert (facts["uid"], facts["resourceVersion"]) == (made["uid"], int(made["resourceVersion"]))


def test_a_truncated_response_breaks_off_in_its_body(
    carrier: proxies.Proxy, server: apis.Api
) -> None:
    proxies.create(server, "truncated", text="x" * 1000)
    carrier.add("response", {"type": "truncate"}, match={"name": "truncated"}, count=1)
    with proxies.connection(carrier.kubeconfig()) as (connection, common):
        connection.request("GET", f"{proxies.PATH}/truncated", headers=common)
        response = connection.getresponse()
        assert response.status == 200
        with pytest.raises((http.client.IncompleteRead, ConnectionResetError)):
            response.read()


def test_a_delayed_request_is_recorded_with_its_end(
    carrier: proxies.Proxy, server: apis.Api
) -> None:
    name = carrier.add("request", {"type": "delay", "seconds": 0.2}, match=CREATES)
    with carrier.api() as api:
        proxies.create(api, "delayed")
    (applied,) = carrier.applied(name)
    lasted_ns = applied["ended"]["monotonicNs"] - applied["begun"]["monotonicNs"]
    assert lasted_ns >= 0.2e9


def test_a_held_write_arrives_after_its_client_was_killed(
    carrier: proxies.Proxy, server: apis.Api
) -> None:
    name = carrier.add("request", {"type": "block"}, match=CREATES)
    body = json.dumps(proxies.config_map("orphan"))
    client = subprocess.Popen([sys.executable, "-c", WRITER, str(carrier.kubeconfig()), body])
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
