"""Reads that are answered from an older version."""

import pathlib
from collections.abc import Iterator

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


def change(server: apis.Api) -> Object:
    return server.patch(proxies.CONFIG_MAPS, "stale", {"data": {"a": "new"}}, namespace="default")


def read(api: apis.Api, name: str = "stale") -> Object:
    return api._call("GET", proxies.CONFIG_MAPS.path("default", name) + "?resourceVersion=0")


def test_lists_and_gets_show_the_past(proxy: proxies.Proxy, server: apis.Api, old: Object) -> None:
    match = {"resource": "configmaps", "verbs": ["get", "list"]}
    name = proxy.add("request", {"type": "stale", "seconds": AGE_S}, match=match)
    clocks.sleep(3 * AGE_S)  # a version of that age is known then
    with proxy.api() as api:
        assert read(api) == old
        assert proxy.applied(name) == []  # it has not changed
        new = change(server)
        assert api.get(proxies.CONFIG_MAPS, "stale", namespace="default") == new
        listed = api.list(proxies.CONFIG_MAPS, namespace="default", is_cached=True)
        assert {"a": "old"} in [item.get("data") for item in listed.items]
        version = int(listed.resource_version)
        path = f"{proxies.PATH}?limit=500&resourceVersion=0"
        _, body = proxies.request(proxy.kubeconfig(), "GET", path, Accept=proxies.PROTOBUF)
        assert body.startswith(b"k8s\x00")
        assert b"old" in body
        server.delete(proxies.CONFIG_MAPS, "stale", namespace="default")
        assert read(api) == old
        proxies.create(server, "newborn")
        with pytest.raises(apis.ApiError) as raised:
            read(api, "newborn")
        assert raised.value.is_not_found
    first, last = (int(item["metadata"]["resourceVersion"]) for item in (old, new))
    assert first <= version < last
    of_list, *others = proxy.applied(name)
    assert (of_list["facts"]["resourceVersion"], of_list["note"]) == (version, "")
    assert len(others) == 3


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
