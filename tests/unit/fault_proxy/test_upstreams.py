"""Requests of the proxy to the API server: credentials, headers, and no repetition."""

import asyncio
import base64
import contextlib
import json
import pathlib
import ssl
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import aiohttp
import pytest
import yarl

from harness import tls_authorities
from harness.fault_proxy import http_headers, settings, upstreams
from tests.support import written_kubeconfigs
from tests.unit.fault_proxy import proxies, recording_upstream

PLUGIN = """
import json, pathlib, sys
calls = pathlib.Path(sys.argv[1])
calls.write_text(calls.read_text() + "x" if calls.exists() else "x")
status = {"token": f"token-{len(calls.read_text())}"}
print(json.dumps({
    "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1", "status": status,
}))
"""
ROOT = pathlib.Path(__file__).parents[3]
Pair = tuple[proxies.Proxy, recording_upstream.RecordingUpstream]


@pytest.fixture(scope="module")
def authority() -> tls_authorities.Authority:
    return tls_authorities.Authority("upstream CA", days=1)


@pytest.fixture
def upstream(
    authority: tls_authorities.Authority, tmp_path: pathlib.Path
) -> Iterator[recording_upstream.RecordingUpstream]:
    with recording_upstream.serving(authority, tmp_path) as server:
        yield server


def running(
    folder: pathlib.Path, certificate: bytes, url: str, user: dict[str, Any], **cluster: Any
) -> contextlib.AbstractContextManager[proxies.Proxy]:
    data = base64.b64encode(certificate).decode()
    settings = {"certificate-authority-data": data, **cluster}
    path = written_kubeconfigs.write(folder / "upstream.kubeconfig", url, user=user, **settings)
    return proxies.running(folder, path)


@pytest.fixture
def proxied(
    upstream: recording_upstream.RecordingUpstream,
    authority: tls_authorities.Authority,
    tmp_path: pathlib.Path,
) -> Iterator[Callable[..., proxies.Proxy]]:
    """Starts proxies for users and clusters of kubeconfigs."""
    with contextlib.ExitStack() as started:

        def start(user: dict[str, Any], **cluster: Any) -> proxies.Proxy:
            proxy = running(tmp_path, authority.certificate, upstream.url, user, **cluster)
            return started.enter_context(proxy)

        yield start


@pytest.fixture(scope="module")
def pair(
    authority: tls_authorities.Authority, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    """A proxy for a user with a token, and its upstream, for all tests that need no other ones."""
    folder = tmp_path_factory.mktemp("pair")
    with (
        recording_upstream.serving(authority, folder) as server,
        running(folder, authority.certificate, server.url, {"token": "t"}) as proxy,
    ):
        yield proxy, server


def send(
    proxy: proxies.Proxy,
    method: str = "GET",
    path: str = "/any",
    body: Any = None,
    *,
    status: int = 200,
    **headers: str,
) -> Any:
    response, answer = proxies.request(proxy.kubeconfig(), method, path, body, **headers)
    assert response.status == status
    return json.loads(answer)


def values(described: dict[str, Any], name: str) -> list[str]:
    return [value for found, value in described["headers"] if found == name]


# ---------------------------------------------------------------- credentials


def test_a_client_certificate_is_presented(
    proxied: Callable[..., proxies.Proxy], authority: tls_authorities.Authority
) -> None:
    pair = authority.client("alice", "developers")
    described = send(
        proxied(
            {
                "client-certificate-data": base64.b64encode(pair.certificate).decode(),
                "client-key-data": base64.b64encode(pair.key).decode(),
            }
        )
    )
    assert described["user"] == "alice"
    assert values(described, "authorization") == []


def test_a_token_file_that_changes_is_read_again(
    proxied: Callable[..., proxies.Proxy],
    upstream: recording_upstream.RecordingUpstream,
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "token").write_text("first\n")
    proxy = proxied({"tokenFile": "token"})
    assert values(send(proxy), "authorization") == ["Bearer first"]
    (tmp_path / "token").write_text("second\n")
    upstream.rejected.add("Bearer first")
    send(proxy, status=401)
    assert values(send(proxy), "authorization") == ["Bearer second"]


def test_an_exec_plugin_runs_again_after_a_rejection(
    proxied: Callable[..., proxies.Proxy],
    upstream: recording_upstream.RecordingUpstream,
    tmp_path: pathlib.Path,
) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN)
    command = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": [str(tmp_path / "plugin.py"), str(tmp_path / "calls")],
    }
    proxy = proxied({"exec": command})
    (first,) = values(send(proxy), "authorization")
    assert values(send(proxy), "authorization") == [first]
    upstream.rejected.add(first)
    send(proxy, status=401)
    (second,) = values(send(proxy), "authorization")
    assert first.startswith("Bearer token-")
    assert second not in (first, "")


def test_the_user_of_the_kubeconfig_is_impersonated_unless_the_client_names_one(
    proxied: Callable[..., proxies.Proxy],
) -> None:
    proxy = proxied({"token": "secret", "as": "bob", "as-groups": ["x", "y"]})
    described = send(proxy)
    assert values(described, "authorization") == ["Bearer secret"]
    assert values(described, "impersonate-user") == ["bob"]
    assert values(described, "impersonate-group") == ["x", "y"]
    described = send(proxy, **{"Impersonate-User": "carol"})
    assert values(described, "impersonate-user") == ["carol"]
    assert values(described, "impersonate-group") == []


def test_the_servers_own_path_and_name_count(
    proxied: Callable[..., proxies.Proxy], upstream: recording_upstream.RecordingUpstream
) -> None:
    upstream.prefix = "/clusters/one"
    proxy = proxied({"token": "t"}, **{"tls-server-name": recording_upstream.SERVER_NAME})
    assert send(proxy, path="/any?a=b%2Fc")["path"] == "/clusters/one/any?a=b%2Fc"


class Session:
    """It gets a request, and has no response."""

    async def request(self, _method: str, url: yarl.URL, **given: Any) -> None:
        self.url, self.name = str(url), given["server_hostname"]
        raise TimeoutError


@pytest.mark.parametrize(
    ("server", "url"),
    [
        ("https://[::1]:6443", "https://[::1]:6443/a%2Fb?c=%20"),
        ("https://[fe80::1]/base/", "https://[fe80::1]/base/a%2Fb?c=%20"),
        ("http://host:8001/base", "http://host:8001/base/a%2Fb?c=%20"),
    ],
)
def test_an_address_of_any_kind(server: str, url: str, tmp_path: pathlib.Path) -> None:
    cluster = {"tls-server-name": "own.name"}
    path = written_kubeconfigs.write(tmp_path / "k", server, user={"token": "t"}, **cluster)
    client = settings.Client(name="c", kubeconfig=path, proxied_kubeconfig=path)
    session: Any = Session()
    headers = http_headers.Headers()
    with pytest.raises(upstreams.NoResponseError, match="TimeoutError"):
        asyncio.run(upstreams.Upstream(client, session).send("GET", "/a%2Fb?c=%20", headers, None))
    assert (session.url, session.name) == (url, "own.name")
    assert headers == {"Authorization": "Bearer t"}


class Rejecting:
    """It answers each request with 401."""

    def __init__(self) -> None:
        self.contexts: list[ssl.SSLContext] = []

    async def request(self, *_: Any, **given: Any) -> Any:
        self.contexts.append(given["ssl"])
        return types.SimpleNamespace(status=401)


def test_a_certificate_that_has_changed_is_presented(
    authority: tls_authorities.Authority, tmp_path: pathlib.Path
) -> None:
    def use(pair: tls_authorities.Pair, token: str) -> pathlib.Path:
        named = {"client-certificate-data": pair.certificate, "client-key-data": pair.key}
        user = {name: base64.b64encode(data).decode() for name, data in named.items()}
        return written_kubeconfigs.write(tmp_path / "k", "https://h", user=user | {"token": token})

    async def send_thrice() -> None:
        await upstream.send("GET", "/", http_headers.Headers(), None)
        use(alice, "second")
        await upstream.send("GET", "/", http_headers.Headers(), None)
        await upstream.send("GET", "/", http_headers.Headers(), None)
        use(authority.client("bob", "g"), "second")
        await upstream.send("GET", "/", http_headers.Headers(), None)
        await upstream.send("GET", "/", http_headers.Headers(), None)

    alice = authority.client("alice", "g")
    path = use(alice, "first")
    session: Any = Rejecting()
    client = settings.Client(name="c", kubeconfig=path, proxied_kubeconfig=path)
    upstream = upstreams.Upstream(client, session)
    asyncio.run(send_thrice())
    first, second, third, fourth, last = session.contexts
    assert first is second is third is fourth is not last


def test_a_watch_may_last_for_any_time() -> None:
    async def timeouts() -> aiohttp.ClientTimeout:
        async with upstreams.open_session() as session:
            return session.timeout

    found = asyncio.run(timeouts())
    assert (found.total, found.sock_read) == (None, None)


# -------------------------------------------------------------------- requests


@pytest.mark.parametrize(
    "path", ["/a%2Fb/c?x=1&x=2&empty=", "/a//b/./c", "/%7Ea?label=a%3D%C3%A9%20b+c"]
)
def test_a_path_passes_as_it_is(pair: Pair, path: str) -> None:
    assert send(pair[0], path=path)["path"] == path


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_body_passes_with_any_method(pair: Pair, method: str) -> None:
    body = bytes(range(256)) * 8000
    described = send(pair[0], method, "/any", body)
    assert (described["method"], described["body"].encode("latin-1")) == (method, body)


def test_a_fault_sees_the_object_in_a_compressed_response(pair: Pair) -> None:
    proxy, _ = pair
    proxy.add("response", {"type": "reject", "code": 504}, match={"name": "long"}, count=1)
    accepted = {"Accept-Encoding": "gzip"}
    response, _ = proxies.request(proxy.kubeconfig(), "GET", "/api/v1/gzip", **accepted)
    assert response.status == 504


def test_a_body_that_is_too_large_is_refused(pair: Pair) -> None:
    proxy, upstream = pair
    with proxies.connection(proxy.kubeconfig()) as (connection, common):
        length = str(17 * 1024 * 1024)
        connection.putrequest("POST", "/too-large")
        for name, value in {**common, "Content-Length": length}.items():
            connection.putheader(name, value)
        connection.endheaders()
        with contextlib.suppress(ConnectionError):
            connection.send(b"x" * int(length))
        response = connection.getresponse()
        assert (response.status, json.loads(response.read())["code"]) == (413, 413)
    assert ("POST", "/too-large") not in upstream.requests


def test_the_proxy_of_the_cluster_is_used(
    proxied: Callable[..., proxies.Proxy],
    upstream: recording_upstream.RecordingUpstream,
    tmp_path: pathlib.Path,
) -> None:
    log = tmp_path / "asked"
    argv = [sys.executable, "-m", "tests.support.http_proxy", str(log), "jane:secret"]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = f"http://jane:secret@127.0.0.1:{process.stdout.readline().strip()}"
            described = send(proxied({"token": "t"}, **{"proxy-url": url}))
        finally:
            process.kill()
    assert values(described, "authorization") == ["Bearer t"]
    assert values(described, "proxy-authorization") == []
    asked = [line.rpartition(" ")[0] for line in log.read_text().splitlines()]
    # the check at the start, and the request
    assert asked == [f"CONNECT 127.0.0.1:{upstream.server_port}"] * 2
