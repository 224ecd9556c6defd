"""A kubeconfig's proxy-url, with a proxy that is a process of its own before a real API server; and
what is said of other proxies.
"""

import contextlib
import json
import pathlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from harness import errors
from harness.client import apis, kubeconfigs, transports

ROOT = pathlib.Path(__file__).parents[3]
TIMEOUT_S = 30
PASSWORD = "jane:a b:c"


class Running:
    """A proxy and what it has been asked for."""

    def __init__(self, port: int, log: pathlib.Path) -> None:
        self.port, self._log = port, log

    def url(self, credentials: str = "") -> str:
        return f"http://{credentials}127.0.0.1:{self.port}"

    def asked(self) -> list[str]:
        return self._log.read_text().splitlines() if self._log.exists() else []


@pytest.fixture
def proxy(tmp_path: pathlib.Path) -> Iterator[Callable[..., Running]]:
    with contextlib.ExitStack() as stack:

        def start(*credentials: str) -> Running:
            log = tmp_path / "asked"
            argv = [sys.executable, "-m", "tests.support.http_proxy", str(log), *credentials]
            process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None
            return Running(int(process.stdout.readline()), log)

        yield start


@pytest.fixture
def through(server: Any, tmp_path: pathlib.Path) -> Iterator[Callable[..., apis.Api]]:
    """The API server by this proxy, over TLS or not."""
    with contextlib.ExitStack() as stack:

        def connect(url: str, *, tls: bool) -> apis.Api:
            source = server.kubeconfig.with_name("kubeconfig") if tls else server.kubeconfig
            document = json.loads(source.read_text())
            document["clusters"][0]["cluster"]["proxy-url"] = url
            path = tmp_path / "through"
            path.write_text(json.dumps(document))
            return stack.enter_context(apis.connected(path))

        yield connect


@pytest.mark.parametrize("tls", [True, False])
def test_requests_and_watches_go_through_it(
    server: Any, proxy: Any, through: Callable[..., apis.Api], tls: bool
) -> None:
    running = proxy()
    api = through(running.url(), tls=tls)
    lease = {"metadata": {"name": "a", "namespace": "default"}, "spec": {"holderIdentity": "x"}}
    made = api.create(apis.LEASES, lease, namespace="default")
    listed = api.list(apis.LEASES, namespace="default")
    assert [item["metadata"]["uid"] for item in listed.items] == [made["metadata"]["uid"]]
    watch = api.watch(apis.LEASES, resource_version=listed.resource_version)
    server.api.delete(apis.LEASES, "a", namespace="default")
    event = json.loads(next(iter(watch)))
    assert (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", "a")
    watch.close()
    first, *rest = [line.split(" ")[:2] for line in running.asked()]
    plain = kubeconfigs.load(server.kubeconfig)
    if tls:
        secure = kubeconfigs.load(server.kubeconfig.with_name("kubeconfig"))
        assert [first, *rest] == [["CONNECT", f"127.0.0.1:{secure.port}"]] * 2
    else:
        leases = f"http://127.0.0.1:{plain.port}{apis.LEASES.path('default')}"
        assert first == ["POST", leases]
        assert len(rest) == 1, "a connection for the requests, one for the watch"


@pytest.mark.parametrize("tls", [True, False])
def test_a_proxy_with_a_password(proxy: Any, through: Callable[..., apis.Api], tls: bool) -> None:
    running = proxy(PASSWORD)
    right = through(running.url("jane:a%20b%3Ac@"), tls=tls)
    assert right.list(apis.NAMESPACES).items
    wrong = through(running.url("jane:x@"), tls=tls)
    with pytest.raises(errors.HarnessError, match="407") as caught:
        wrong.list(apis.NAMESPACES)
    assert tls is not getattr(caught.value, "sent", True), "there is no tunnel"


@pytest.mark.parametrize("tls", [True, False])
def test_a_proxy_that_is_not_there(through: Callable[..., apis.Api], tls: bool) -> None:
    api = through("http://127.0.0.1:1", tls=tls)
    message = r"expected an API server at 127.0.0.1:\d+ through the proxy http://127.0.0.1:1, but: "
    with pytest.raises(transports.TransportError, match=message) as caught:
        api.list(apis.NAMESPACES)
    assert not caught.value.sent


def test_the_password_is_shown_nowhere() -> None:
    def proxy(url: str) -> kubeconfigs.Proxy | None:
        cluster = {"server": "http://a", "proxy-url": url}
        document = {"clusters": [{"cluster": cluster}], "users": []}
        return kubeconfigs.endpoint(document, "config").proxy

    found = proxy("http://jane:secret@p:3128")
    assert found is not None
    assert "secret" not in f"{found} {found!r}"
    assert found.authorization.removeprefix("Basic ") not in f"{found} {found!r}"
    for address in ("socks5://jane:secret@p:1080", "http://jane:secret@p:99999"):
        with pytest.raises(errors.KubeconfigError, match=r"got '[a-z0-9]+://p:") as caught:
            proxy(address)
        assert "secret" not in str(caught.value)
