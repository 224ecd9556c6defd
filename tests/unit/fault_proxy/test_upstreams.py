"""Connections of the proxy to the API server: their addresses, certificates and proxies."""

import asyncio
import base64
import json
import pathlib
import re
import ssl
import subprocess
import sys
from typing import Any

import pytest
import yarl

from harness import listening, tls_authorities
from harness.client import apis
from harness.fault_proxy import http_headers, settings, upstreams
from tests.support import written_kubeconfigs
from tests.unit.fault_proxy import proxies

ROOT = pathlib.Path(__file__).parents[3]


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


def test_the_certificate_of_the_client_is_presented_also_when_it_has_changed(
    tmp_path: pathlib.Path,
) -> None:
    """The server answers with 401, and says whom it has met and with which tokens."""
    authority, met = tls_authorities.Authority("upstream CA", days=1), list[str]()
    context = listening.tls_context(authority.server("upstream.example", ["upstream.example"]))
    context.load_verify_locations(cadata=authority.certificate.decode())
    context.verify_mode = ssl.CERT_REQUIRED

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        subject = writer.get_extra_info("peercert")["subject"]
        met.append(dict(pair[0] for pair in subject)["commonName"])
        while not reader.at_eof():
            head = await reader.readuntil(b"\r\n\r\n")
            met.extend(re.findall(r"Bearer (\w+)", head.decode()))
            writer.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")

    def use(url: str, pair: tls_authorities.Pair, token: str) -> pathlib.Path:
        named = {"client-certificate-data": pair.certificate, "client-key-data": pair.key}
        user = {name: base64.b64encode(data).decode() for name, data in named.items()}
        cluster = {
            "certificate-authority-data": base64.b64encode(authority.certificate).decode(),
            "tls-server-name": "upstream.example",
        }
        return written_kubeconfigs.write(
            tmp_path / "k", url, user=user | {"token": token}, **cluster
        )

    async def talk() -> None:
        server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=context)
        url = f"https://127.0.0.1:{listening.port_of(server)}"
        alice, bob = (authority.client(name, "g") for name in ("alice", "bob"))
        path = use(url, alice, "first")
        client = settings.Client(name="c", kubeconfig=path, proxied_kubeconfig=path)
        async with upstreams.open_session() as session:
            assert (session.timeout.total, session.timeout.sock_read) == (None, None)
            upstream = upstreams.Upstream(client, session)
            for pair in (alice, alice, bob, bob, bob):
                response = await upstream.send("GET", "/", http_headers.Headers(), None)
                assert (await upstreams.whole(response)).status == 401
                use(url, pair, "second")
        server.close()

    asyncio.run(talk())
    assert met == ["alice", "first", "first", "second", "second", "bob", "second"]


def test_the_proxy_of_the_cluster_is_used(
    folder: pathlib.Path, server: apis.Api, tmp_path: pathlib.Path
) -> None:
    document, log = json.loads((folder / "tls").read_text()), tmp_path / "asked"
    cluster = document["clusters"][0]["cluster"]
    argv = [sys.executable, "-m", "tests.support.http_proxy", str(log), "jane:secret"]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            cluster["proxy-url"] = f"http://jane:secret@127.0.0.1:{port}"
            (tmp_path / "upstream").write_text(json.dumps(document))
            with proxies.running(tmp_path, tmp_path / "upstream") as proxy, proxy.api() as api:
                assert proxies.names(api) == proxies.names(server)
        finally:
            process.kill()
    asked = [line.rpartition(" ")[0] for line in log.read_text().splitlines()]
    # the check at the start, and the request
    assert asked == [f"CONNECT {cluster['server'].removeprefix('https://')}"] * 2
