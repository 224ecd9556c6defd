"""The fault proxy beside a direct connection: throughput, latency, CPU time and memory.

Both ways use TLS. The proxy has no faults unless a figure says so.
"""

import contextlib
import dataclasses
import itertools
import json
import pathlib
import re
import socket
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping

import psutil

from bench import apiserver, clients
from harness import processes
from harness.apiserver import json_codec
from harness.client import apis, transports
from harness.cluster.fake_nodes import fake_objects, pool_slices
from harness.scenario import claim_specs, pool_specs
from harness.traffic import objects

CREATES = 2000
SEQUENTIAL = 500
WATCHES = 500
SCHEDULED = 200
DEVICES_PER_NODE = 512
ROUNDS = 2
"""How often each way is measured, in turns: the rates of a busy machine differ much."""
POLL_S = 0.05
PODS = apiserver.PODS
DELAY = {"point": "event", "action": {"type": "delay", "seconds": 0.0}}
"""A fault that finds every event and delays none."""
_NAME = re.compile(rb'"name":"(proxied-\d+)"')
_NUMBERS = itertools.count()


@dataclasses.dataclass
class Proxy:
    """A running proxy."""

    process: psutil.Process
    kubeconfig: pathlib.Path
    client: clients.Client
    admin: clients.Client

    def cpu_s(self) -> float:
        """Return the CPU time that it has used."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextlib.contextmanager
def proxied(server: apiserver.Server) -> Iterator[Proxy]:
    """Run a proxy with one client."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        client = {
            "name": "bench",
            "kubeconfig": str(server.kubeconfig),
            "proxied_kubeconfig": str(folder / "bench"),
        }
        settings = folder / "settings.json"
        admin = {"kubeconfig": str(folder / "admin")}
        settings.write_text(json.dumps({"clients": [client], "admin": admin}))
        process = processes.start_ready(
            "fault-proxy",
            processes.command("part", "fault-proxy", str(settings)),
            log=folder / "log",
            ready=folder / "ready",
            timeout_s=apiserver.START_TIMEOUT_S,
        )
        try:
            yield Proxy(
                psutil.Process(process.pid),
                folder / "bench",
                clients.Client(folder / "bench"),
                clients.Client(folder / "admin"),
            )
        finally:
            process.stop(timeout_s=apiserver.START_TIMEOUT_S)


def measure() -> apiserver.Figures:
    """Yield all figures."""
    with apiserver.served() as server, proxied(server) as proxy:
        direct = clients.Client(server.kubeconfig)
        ways = (("direct", direct), ("through the proxy", proxy.client))
        yield from _scheduling(server, proxy)
        yield from _creates(ways, proxy)
        yield from _latencies(ways)
        _add(proxy, DELAY)
        yield from _latencies((("through the proxy, each event examined", proxy.client),))
        yield from _memory(proxy)


Ways = tuple[tuple[str, clients.Client], ...]


def _scheduling(server: apiserver.Server, proxy: Proxy) -> apiserver.Figures:
    """Have the Python scheduler bind pods with one device each."""
    with contextlib.closing(transports.connect(server.kubeconfig)) as transport:
        api = apis.Api(transport)
        _create_devices(api)
        ways = {"direct": server.kubeconfig, "through the proxy": proxy.kubeconfig}
        rates: dict[str, list[float]] = {what: [] for what in ways}
        for number, what in itertools.product(range(ROUNDS), ways):
            cpu_s = proxy.cpu_s()
            with _scheduler(ways[what]):
                seconds = _schedule(api, f"{what.split()[0]}-{number}")
            rates[what].append(SCHEDULED / seconds)
    for what in ways:
        yield f"pods scheduled, the scheduler {what}, best", max(rates[what]), "pods/s"
    cpu_us = (proxy.cpu_s() - cpu_s) / SCHEDULED * 1e6
    yield "  CPU time of the proxy for each", cpu_us, "µs CPU"


def _create_devices(api: apis.Api) -> None:
    pools = pool_specs.PoolsSpec(devices_per_node=DEVICES_PER_NODE)
    for device_class in fake_objects.device_classes(pools, labels={}):
        api.create(apis.DEVICE_CLASSES, device_class)
    for node in ("bench-0", "bench-1"):
        made = fake_objects.node_object(node, labels={})
        api.update_status(apis.NODES, {**api.create(apis.NODES, made), "status": made["status"]})
        for item in pool_slices.of_node(pools, node, labels={}):
            api.create(apis.SLICES, item)


@contextlib.contextmanager
def _scheduler(kubeconfig: pathlib.Path) -> Iterator[None]:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        process = processes.start_ready(
            "scheduler",
            processes.command("part", "scheduler", "--kubeconfig", str(kubeconfig)),
            log=folder / "log",
            ready=folder / "ready",
            timeout_s=apiserver.START_TIMEOUT_S,
        )
        try:
            yield
        finally:
            process.stop(timeout_s=apiserver.START_TIMEOUT_S)


def _schedule(api: apis.Api, prefix: str) -> float:
    """Create claims and their pods; return the seconds until the last pod is bound."""
    spec = objects.claim_spec(claim_specs.ClaimSpec(), pool_specs.PoolsSpec())
    names = [f"{prefix}-{number}" for number in range(SCHEDULED)]
    for name in names:
        api.create(apis.CLAIMS, objects.claim(name, spec, run_id="bench"), namespace="default")
    started = time.perf_counter()
    for name in names:
        use = objects.uses([name])
        pod = objects.pod(name, use, run_id="bench", scheduler="flake-hunt")
        api.create(apis.PODS, pod, namespace="default")
    waiting = set(names)
    while waiting:
        time.sleep(POLL_S)  # noqa: TID251 - a bench has no conditions to wait for
        pods = api.list(apis.PODS, namespace="default").items
        waiting -= {pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName")}
    return time.perf_counter() - started


def _creates(ways: Ways, proxy: Proxy) -> apiserver.Figures:
    for what, client in ways:
        requests = list(_new_pods(client, CREATES))
        started, cpu_s = time.perf_counter(), proxy.cpu_s()
        client.send_all(requests)
        seconds, cpu_s = time.perf_counter() - started, proxy.cpu_s() - cpu_s
        yield f"pods created by {clients.CLIENTS} clients, {what}", CREATES / seconds, "creates/s"
    yield "  CPU time of the proxy for each", cpu_s / CREATES * 1e6, "µs CPU"
    for watches in (1, 10):
        with proxy.client.watching(PODS, watches) as readers:
            requests, cpu_s = list(_new_pods(ways[0][1], CREATES)), proxy.cpu_s()
            ways[0][1].send_all(requests, readers=readers)
            cpu_us = (proxy.cpu_s() - cpu_s) / CREATES / watches * 1e6
        yield f"  CPU time of the proxy for an event of one of {watches} watches", cpu_us, "µs CPU"


def _latencies(ways: Ways) -> apiserver.Figures:
    """Create one pod after the other, and wait for the response and the event of each."""
    for what, client in ways:
        with client.watching(PODS, 1) as (watch,), client.connect() as connection:
            pairs = [
                _timed(connection, watch, request) for request in _new_pods(client, SEQUENTIAL)
            ]
        for number, kind in enumerate(("response", "event")):
            value = statistics.median(pair[number] for pair in pairs) * 1e6
            yield f"from a create to its {kind}, {what}, median", value, "µs"


def _timed(connection: socket.socket, watch: socket.socket, request: bytes) -> tuple[float, float]:
    """Return the seconds to the response and to the event of a create."""
    match = _NAME.search(request)
    assert match
    started = time.perf_counter()
    connection.sendall(request)
    clients.read_response(connection)
    answered = time.perf_counter() - started
    text = b""
    while match[1] not in text:
        text += watch.recv(65536)
    return answered, time.perf_counter() - started


def _memory(proxy: Proxy) -> apiserver.Figures:
    before = proxy.process.memory_info().rss
    yield "memory without watches", before / 1e6, "MB"
    with proxy.client.watching(PODS, WATCHES):
        grown = proxy.process.memory_info().rss
        yield f"memory with {WATCHES} watches", grown / 1e6, "MB"
        yield "  for each", (grown - before) / WATCHES / 1e3, "kB"


def _new_pods(client: clients.Client, count: int) -> Iterator[bytes]:
    for number in itertools.islice(_NUMBERS, count):
        pod = {
            "metadata": {"name": f"proxied-{number}"},
            "spec": {"containers": [{"name": "work", "image": "none"}]},
        }
        yield client.request("POST", PODS, json_codec.encode(pod))


def _add(proxy: Proxy, fault: Mapping[str, object]) -> None:
    with proxy.admin.connect() as connection:
        body = json.dumps(fault).encode()
        connection.sendall(proxy.admin.request("POST", "/flake-hunt/v1/faults", body))
        clients.read_response(connection)
