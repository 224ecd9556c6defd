"""A real fault proxy before a real API server, and requests to both."""

import contextlib
import dataclasses
import http.client
import json
import pathlib
import ssl
from collections.abc import Iterator
from typing import Any

from harness import clocks, processes
from harness.client import apis, kubeconfigs, transports
from harness.model.objects import Object
from tests.support import fault_proxies

TIMEOUT_S = 30
SCHEDULER, KUBELET = "scheduler", "kubelet"


def start_server(folder: pathlib.Path, *arguments: str) -> processes.Process:
    argv = processes.command(
        *("part", "apiserver", "--kubeconfig", str(folder / "tls")),
        *("--set", f"plain_kubeconfig={folder / 'plain'}", "--set", "serves_faults=true"),
        *arguments,
    )
    ready = folder / "server-ready"
    ready.unlink(missing_ok=True)
    return processes.start_ready(
        "apiserver", argv, log=folder / "server.log", ready=ready, timeout_s=TIMEOUT_S
    )


@dataclasses.dataclass
class Proxy:
    """A process that carries faults: a proxy, or the API server itself."""

    folder: pathlib.Path
    process: processes.Process

    def kubeconfig(self, client: str = SCHEDULER) -> pathlib.Path:
        return self.folder / f"{client}.kubeconfig"

    def api(self, client: str = SCHEDULER) -> contextlib.AbstractContextManager[apis.Api]:
        return apis.connected(self.kubeconfig(client))

    def add(self, point: str, action: dict[str, Any], **more: Any) -> str:
        """Add a fault; return its name."""
        spec = {"point": point, "action": action, **more}
        return self._admin("POST", "faults", json.dumps(spec).encode())["name"]

    def release(self, name: str) -> None:
        self._admin("POST", f"faults/{name}/release")

    def clear(self) -> None:
        self._admin("DELETE", "faults")

    def held(self, name: str) -> int:
        return self._admin("GET", f"faults/{name}")["heldCount"]

    def wait_held(self, name: str, count: int = 1) -> None:
        clocks.wait_until(
            lambda: self.held(name) == count, timeout_s=TIMEOUT_S, why=f"{count} to be held"
        )

    def applied(self, name: str) -> list[dict[str, Any]]:
        """Applications of a fault, oldest first."""
        items = self._admin("GET", "applied")["items"]
        return [item for item in items if item["fault"] == name]

    def _admin(self, method: str, path: str, body: bytes | None = None) -> Any:
        request = transports.Request(method=method, path=f"/flake-hunt/v1/{path}", body=body)
        with apis.connected(self.folder / "admin.kubeconfig") as api:
            response = api.transport.send(request)
        assert response.status < 300, response
        return json.loads(response.body)


@contextlib.contextmanager
def running(
    folder: pathlib.Path, upstream: pathlib.Path, *names: str, **settings: Any
) -> Iterator[Proxy]:
    """Run a proxy for these clients, or for a scheduler, before the server of a kubeconfig."""
    path = fault_proxies.settings_file(folder, upstream, *(names or (SCHEDULER,)))
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    process = fault_proxies.start(path, timeout_s=TIMEOUT_S)
    try:
        yield Proxy(folder, process)
    finally:
        process.stop(timeout_s=TIMEOUT_S)


@contextlib.contextmanager
def connection(
    kubeconfig: pathlib.Path,
) -> Iterator[tuple[http.client.HTTPSConnection, dict[str, str]]]:
    endpoint = kubeconfigs.load(kubeconfig)
    context = endpoint.context()
    assert isinstance(context, ssl.SSLContext)
    made = http.client.HTTPSConnection(
        endpoint.host, endpoint.port, context=context, timeout=TIMEOUT_S
    )
    with contextlib.closing(made):
        token = {"Authorization": f"Bearer {endpoint.identity.token}"}
        yield made, token | dict(endpoint.impersonation)


def request(
    kubeconfig: pathlib.Path, method: str, path: str, body: Any = None, **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    """Send one on a connection of its own; return the response and its body."""
    with connection(kubeconfig) as (made, common):
        made.request(method, path, body, {**common, **headers})
        response = made.getresponse()
        return response, response.read()


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


CONFIG_MAPS = apis.Resource("", "v1", "configmaps", "ConfigMap", namespaced=True)
PATH = "/api/v1/namespaces/default/configmaps"


def create(api: apis.Api, name: str, **data: str) -> Object:
    return api.create(CONFIG_MAPS, config_map(name, **data), namespace="default")


def names(api: apis.Api) -> set[str]:
    items = api.list(CONFIG_MAPS, namespace="default").items
    return {item["metadata"]["name"] for item in items}
