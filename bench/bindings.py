"""The whole path: pods bound per second by the scheduler process and the embedded API server.

All pods and claims are there before the scheduler starts. The connections have no TLS. The rate is
that between the first and the last binding, as a watch sees them.
"""

import contextlib
import itertools
import json
import pathlib
import tempfile
import time
from collections.abc import Iterable, Iterator
from typing import Any

import psutil

from bench import apiserver, clusters
from harness import concurrency, processes
from harness.client import apis, informers, transports

Object = dict[str, Any]
Figures = Iterator[tuple[str, float, str]]
PODS = 300
SIZES = (100, 500, 5000)
DEVICES_PER_CLAIM = 32
"""The most that one claim can hold; so few claims fill a cluster."""
TIMEOUT_S = 120.0
_DRA, _CORE = "/apis/resource.k8s.io/v1", "/api/v1"
_CLAIMS, _PODS = f"{_DRA}/namespaces/default/resourceclaims", f"{_CORE}/namespaces/default/pods"


def measure() -> Figures:
    """Yield the figures of each size, on a server of its own."""
    for nodes in SIZES:
        with apiserver.served() as server:
            yield from _figures(Cluster(server, nodes), nodes)


def _figures(cluster: "Cluster", nodes: int) -> Figures:
    for percent in (0, 50, 100):
        cluster.fill(percent)
        name = f"{nodes} nodes x {clusters.DEVICES}, {percent} % in use"
        for kind, devices in clusters.CLAIMS.items():
            if not kind or percent == 50:
                yield f"{name}{kind}", cluster.rate(devices), "pods/s"
                yield "  CPU time of the scheduler for each", cluster.scheduler_ms, "ms CPU"
                yield "  CPU time of the API server for each", cluster.server_ms, "ms CPU"
    yield f"{nodes} nodes: memory of the scheduler", cluster.memory_mib, "MiB"


class Bound(informers.EventHandler):
    """An event handler that notes when pods are bound."""

    def __init__(self) -> None:
        self.at_s: list[float] = []
        self.is_done = concurrency.Event("all-bound")

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Do nothing."""

    def on_update(self, old: Object, new: Object) -> None:
        """Note a pod that is bound."""
        if new["spec"].get("nodeName") and not old["spec"].get("nodeName"):
            self.at_s.append(time.perf_counter())
            if len(self.at_s) == PODS:
                self.is_done.set()

    def on_delete(self, last: Object) -> None:
        """Do nothing."""


class Cluster:
    """A server with nodes and devices."""

    def __init__(self, server: apiserver.Server, nodes: int) -> None:
        self._server, self._client = server, server.client
        self._kubeconfig = server.kubeconfig.with_name("plain")
        self._free, self._numbers = clusters.devices_of(nodes), itertools.count()
        self._total, self._held = nodes * clusters.DEVICES, 0
        self.memory_mib = self.scheduler_ms = self.server_ms = 0.0
        """Of the last scheduler, and of the server meanwhile, from start to the last binding."""
        self._send("POST", f"{_DRA}/deviceclasses", [clusters.device_class()])
        self._send("POST", f"{_CORE}/nodes", map(clusters.node, range(nodes)))
        self._send("POST", f"{_DRA}/resourceslices", map(_new_slice, range(nodes)))

    def fill(self, percent: int) -> None:
        """Allocate devices in order; 100 % leaves enough for the pods of the measurements."""
        wanted = min(self._total * percent // 100, self._total - 5 * PODS)
        claims = []
        while self._held + DEVICES_PER_CLAIM <= wanted:
            devices = itertools.islice(self._free, DEVICES_PER_CLAIM)
            self._held += DEVICES_PER_CLAIM
            claim = clusters.claim(f"held-{next(self._numbers)}", clusters.CLAIMS[""])
            claims.append({**claim, "status": {"allocation": clusters.allocation(devices)}})
        self._send("POST", _CLAIMS, claims)
        for claim in claims:
            self._send("PUT", f"{_CLAIMS}/{claim['metadata']['name']}/status", [claim])

    def rate(self, devices: Object) -> float:
        """Return how many pods with such claims are bound in a second, and remove them."""
        names = [f"bench-{next(self._numbers)}" for _ in range(PODS)]
        self._send("POST", _CLAIMS, (clusters.claim(name, devices) for name in names))
        self._send("POST", _PODS, (clusters.pod(name, name) for name in names))
        seconds = self._bind_all()
        for name in names:
            self._send("DELETE", f"{_PODS}/{name}", [{"gracePeriodSeconds": 0}])
            self._send("PUT", f"{_CLAIMS}/{name}/status", [clusters.claim(name, devices)])
        return (PODS - 1) / seconds

    def _bind_all(self) -> float:
        """Run a scheduler until all pods are bound; return the seconds between first and last."""
        bound = Bound()
        api = apis.Api(transports.connect(self._kubeconfig))
        watching = informers.Informer(api, apis.PODS, name="bench", handlers=[bound])
        watching.start()
        watching.wait_synced(timeout_s=TIMEOUT_S)
        server_s = self._server.cpu_s()
        with _scheduler(self._kubeconfig) as process:
            known = psutil.Process(process.pid)
            scheduler_s = _cpu_s(known)
            if not bound.is_done.wait(TIMEOUT_S):
                raise RuntimeError(f"expected {PODS} bound pods, got {len(bound.at_s)}")
            self.memory_mib = known.memory_info().rss / 2**20
            self.scheduler_ms = (_cpu_s(known) - scheduler_s) / PODS * 1000
            self.server_ms = (self._server.cpu_s() - server_s) / PODS * 1000
        watching.stop()
        return bound.at_s[-1] - bound.at_s[0]

    def _send(self, method: str, path: str, objects: Iterable[Object]) -> None:
        bodies = (json.dumps(item).encode() for item in objects)
        self._client.send_all(self._client.request(method, path, body) for body in bodies)


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _new_slice(index: int) -> Object:
    made = clusters.slice_of(index)
    return {**made, "metadata": {"name": made["metadata"]["name"]}}


@contextlib.contextmanager
def _scheduler(kubeconfig: pathlib.Path) -> Iterator[processes.Process]:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        process = processes.start_ready(
            "scheduler",
            processes.command("part", "scheduler", "--kubeconfig", str(kubeconfig)),
            log=folder / "log",
            ready=folder / "ready",
            timeout_s=TIMEOUT_S,
        )
        try:
            yield process
        finally:
            process.stop(timeout_s=TIMEOUT_S)
