"""One API server and one proxy for all tests of a module."""

import pathlib
from collections.abc import Iterator

import pytest

from harness.client import apis
from tests.unit.fault_proxy import proxies


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return tmp_path_factory.mktemp("proxy")


@pytest.fixture(scope="module")
def server(folder: pathlib.Path) -> Iterator[apis.Api]:
    """The API server, without the proxy."""
    process = proxies.start_server(folder)
    with apis.connected(folder / "plain") as api:
        yield api
    process.kill()


@pytest.fixture(scope="module")
def shared_proxy(folder: pathlib.Path, server: apis.Api) -> Iterator[proxies.Proxy]:
    names = (proxies.SCHEDULER, proxies.KUBELET)
    with proxies.running(folder, folder / "tls", *names) as proxy:
        yield proxy


@pytest.fixture
def proxy(shared_proxy: proxies.Proxy) -> Iterator[proxies.Proxy]:
    """The proxy, without faults."""
    yield shared_proxy
    shared_proxy.clear()


@pytest.fixture
def own_proxy(
    folder: pathlib.Path, server: apis.Api, tmp_path: pathlib.Path
) -> Iterator[proxies.Proxy]:
    """A proxy of the test's own, in a folder of its own."""
    with proxies.running(tmp_path, folder / "tls") as proxy:
        yield proxy
