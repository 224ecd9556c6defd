"""One API server and one proxy for all tests of a module."""

import pathlib
from collections.abc import Iterator

import pytest

from harness import processes
from harness.client import apis, kubeconfig_files
from tests.unit.fault_proxy import proxies


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return tmp_path_factory.mktemp("proxy")


@pytest.fixture(scope="module")
def server_process(folder: pathlib.Path) -> Iterator[processes.Process]:
    process = proxies.start_server(folder)
    yield process
    process.kill()


@pytest.fixture(scope="module")
def server(folder: pathlib.Path, server_process: processes.Process) -> Iterator[apis.Api]:
    """The API server, without the proxy."""
    with apis.connected(folder / "plain") as api:
        yield api


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


@pytest.fixture(scope="module")
def shared_server(folder: pathlib.Path, server_process: processes.Process) -> proxies.Proxy:
    """The API server, which carries faults itself."""
    own = folder / "server"
    own.mkdir()
    kubeconfig_files.write(own / "admin.kubeconfig", kubeconfig_files.extracted([folder / "tls"]))
    for client in (proxies.SCHEDULER, proxies.KUBELET):
        written = kubeconfig_files.write_for_client(folder / "tls", client=client)
        written.rename(own / f"{client}.kubeconfig")
    return proxies.Proxy(own, server_process)


@pytest.fixture(params=["proxy", "server"])
def carrier(request: pytest.FixtureRequest, server: apis.Api) -> Iterator[proxies.Proxy]:
    """Each of what can carry faults, without faults, and an API server without ConfigMaps."""
    made: proxies.Proxy = request.getfixturevalue(f"shared_{request.param}")
    for name in proxies.names(server):
        server.delete(proxies.CONFIG_MAPS, name, namespace="default")
    yield made
    made.clear()


@pytest.fixture
def own_proxy(
    folder: pathlib.Path, server: apis.Api, tmp_path: pathlib.Path
) -> Iterator[proxies.Proxy]:
    """A proxy of the test's own, in a folder of its own."""
    with proxies.running(tmp_path, folder / "tls") as proxy:
        yield proxy
