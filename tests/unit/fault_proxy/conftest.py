"""One API server and one proxy for all tests of a module."""

import pathlib
from collections.abc import Iterator

import pytest

from harness.client import apis, transports
from tests.support import fault_proxies
from tests.unit.fault_proxy import proxies


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return tmp_path_factory.mktemp("proxy")


@pytest.fixture(scope="module")
def server(folder: pathlib.Path) -> Iterator[apis.Api]:
    """The API server, without the proxy."""
    process = proxies.start_server(folder)
    transport = transports.connect(folder / "plain")
    yield apis.Api(transport)
    transport.close()
    process.kill()


@pytest.fixture(scope="module")
def shared_proxy(folder: pathlib.Path, server: apis.Api) -> Iterator[proxies.Proxy]:
    settings = fault_proxies.settings_file(
        folder, folder / "tls", proxies.SCHEDULER, proxies.KUBELET
    )
    proxy = proxies.start_proxy(settings)
    yield proxy
    proxy.process.stop(timeout_s=proxies.TIMEOUT_S)


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
    settings = fault_proxies.settings_file(tmp_path, folder / "tls", proxies.SCHEDULER)
    proxy = proxies.start_proxy(settings)
    yield proxy
    proxy.process.kill()
