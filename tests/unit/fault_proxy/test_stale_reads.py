"""Reads that are answered from an older version."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from harness import clocks
from harness.client import apis
from harness.model.objects import Object
from tests.unit.fault_proxy import proxies

AGE_S = 0.3


@pytest.fixture
def old(server: apis.Api) -> Iterator[Object]:
    """An object that is about to change."""
    yield proxies.create(server, "stale", a="old")
    with apis.if_there():
        server.delete(proxies.CONFIG_MAPS, "stale", namespace="default")


def add(proxy: proxies.Proxy, *verbs: str) -> str:
    """Make reads stale; return once a version of the wanted age is known."""
    action = {"type": "stale", "seconds": AGE_S}
    match = {"resource": "configmaps", "verbs": list(verbs or ("get", "list"))}
    name = proxy.add("request", action, match=match)
    clocks.sleep(3 * AGE_S)
    return name


def change(server: apis.Api) -> Object:
    return server.patch(proxies.CONFIG_MAPS, "stale", {"data": {"a": "new"}}, namespace="default")


def read(api: apis.Api, name: str = "stale") -> Object:
    return api._call("GET", proxies.CONFIG_MAPS.path("default", name) + "?resourceVersion=0")


def shown(listed: apis.Listing) -> dict[str, Any]:
    return {item["metadata"]["name"]: item.get("data") for item in listed.items}


def test_a_list_shows_the_past(proxy: proxies.Proxy, server: apis.Api, old: Object) -> None:
    name = add(proxy)
    new = change(server)
    with proxy.api() as api:
        listed = api.list(proxies.CONFIG_MAPS, namespace="default", is_cached=True)
    assert shown(listed)["stale"] == {"a": "old"}
    version = int(listed.resource_version)
    first, last = (int(item["metadata"]["resourceVersion"]) for item in (old, new))
    assert first <= version < last
    (applied,) = proxy.applied(name)
    assert applied["facts"]["resourceVersion"] == version
    assert applied["note"] == ""


def test_an_object_that_is_new_is_not_found(proxy: proxies.Proxy, server: apis.Api) -> None:
    add(proxy)
    proxies.create(server, "newborn")
    with proxy.api() as api, pytest.raises(apis.ApiError) as raised:
        read(api, "newborn")
    assert raised.value.is_not_found


def test_an_object_that_is_deleted_is_found(
    proxy: proxies.Proxy, server: apis.Api, old: Object
) -> None:
    add(proxy)
    server.delete(proxies.CONFIG_MAPS, "stale", namespace="default")
    with proxy.api() as api:
        assert read(api) == old


def test_a_list_in_protobuf_shows_the_past(
    proxy: proxies.Proxy, server: apis.Api, old: Object
) -> None:
    add(proxy)
    change(server)
    path = f"{proxies.PATH}?limit=500&resourceVersion=0"
    _, body = proxies.request(proxy.kubeconfig(), "GET", path, Accept=proxies.PROTOBUF)
    assert body.startswith(b"k8s\x00")
    assert b"old" in body


@pytest.mark.parametrize(
    "query",
    [
        "limit=1000",
        "resourceVersion={newest}",
        "resourceVersion={newest}&resourceVersionMatch=Exact",
    ],
)
def test_a_read_that_asks_for_a_newer_version_or_the_newest_is_left_alone(
    proxy: proxies.Proxy, server: apis.Api, old: Object, query: str
) -> None:
    name = add(proxy)
    newest = change(server)["metadata"]["resourceVersion"]
    path = f"{proxies.PATH}?{query.format(newest=newest)}"
    items = json.loads(proxies.request(proxy.kubeconfig(), "GET", path)[1])["items"]
    assert {"a": "new"} in [item.get("data") for item in items]
    assert proxy.applied(name) == []


def test_a_read_whose_result_has_not_changed_is_left_alone(
    proxy: proxies.Proxy, server: apis.Api, old: Object
) -> None:
    name = add(proxy)
    with proxy.api() as api:
        assert read(api) == old
        proxies.names(api)
    assert proxy.applied(name) == []


def test_other_faults_of_reads_still_apply(proxy: proxies.Proxy, old: Object) -> None:
    add(proxy)
    action = {"type": "reject", "code": 500, "reason": "InternalError"}
    proxy.add("request", action, match={"verbs": ["get"], "name": "stale"})
    with proxy.api() as api, pytest.raises(apis.ApiError) as raised:
        read(api)
    assert raised.value.code == 500


def test_versions_that_are_noted_from_the_start_serve_a_fault_at_once(
    server: apis.Api, old: Object, folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    with (
        proxies.running(tmp_path, folder / "tls", notes_versions=True) as proxy,
        proxy.api() as api,
    ):
        clocks.sleep(3 * AGE_S)
        change(server)
        proxy.add("request", {"type": "stale", "seconds": AGE_S}, match={"verbs": ["get"]})
        assert read(api) == old


def test_a_state_that_is_less_old_than_asked_is_said_to_be_so(
    own_proxy: proxies.Proxy, server: apis.Api, old: Object
) -> None:
    """Another proxy may still keep states of the same name, which are older."""
    action = {"type": "stale", "seconds": 1000}
    name = own_proxy.add("request", action, match={"verbs": ["get"]})
    clocks.sleep(AGE_S)
    change(server)
    with own_proxy.api() as api:
        assert read(api) == old
    assert own_proxy.applied(name)[0]["note"].startswith("the oldest state that is kept, ")
