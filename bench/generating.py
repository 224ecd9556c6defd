"""Claims generated from a template: how many in a second, by the claim controller's process.

All pods are there before the controller starts. The connections have no TLS. A claim counts when
its creation is seen; the rate is that between the first and the last one.
"""

import json
import pathlib
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import psutil

from bench import apiserver, clients, clusters
from harness import concurrency, processes
from harness.client import apis, informers, transports

Object = dict[str, Any]
PODS = 2_000
WORKERS = (1, 10)
TIMEOUT_S = 120.0
_NAMESPACE = "/namespaces/default"
_TEMPLATES = f"/apis/resource.k8s.io/v1{_NAMESPACE}/resourceclaimtemplates"
_PODS = f"/api/v1{_NAMESPACE}/pods"


def measure() -> Iterator[tuple[str, float, str]]:
    """Yield rate and CPU time for each number of workers, on a server of its own."""
    for workers in WORKERS:
        with apiserver.served() as server:
            rate, controller_ms = _generate(server, workers)
        yield f"claims generated, {workers} workers", rate, "claims/s"
        yield "  CPU time of the claim controller for each", controller_ms, "ms CPU"


class Created(informers.EventHandler):
    """An event handler that notes when claims are created."""

    def __init__(self) -> None:
        self.at_s: list[float] = []
        self.is_done = concurrency.Event("all-created")

    def on_add(self, obj: Object, *, initial: bool) -> None:
        """Note a claim."""
        del obj, initial
        self.at_s.append(time.perf_counter())
        if len(self.at_s) == PODS:
            self.is_done.set()

    def on_update(self, old: Object, new: Object) -> None:
        """Do nothing."""

    def on_delete(self, last: Object) -> None:
        """Do nothing."""


def _generate(server: apiserver.Server, workers: int) -> tuple[float, float]:
    """Return claims a second, and milliseconds of the controller's CPU for each."""
    _create_pods(server.client)
    kubeconfig = server.kubeconfig.with_name("plain")
    created = Created()
    watching = informers.Informer(
        apis.Api(transports.connect(kubeconfig)), apis.CLAIMS, name="bench", handlers=[created]
    )
    watching.start()
    watching.wait_synced(timeout_s=TIMEOUT_S)
    with tempfile.TemporaryDirectory() as folder:
        process = _controller(kubeconfig, pathlib.Path(folder), workers)
        known = psutil.Process(process.pid)
        try:
            if not created.is_done.wait(TIMEOUT_S):
                raise RuntimeError(f"expected {PODS} claims, got {len(created.at_s)}")
            times = known.cpu_times()
        finally:
            process.stop(timeout_s=TIMEOUT_S)
    watching.stop()
    rate = (PODS - 1) / (created.at_s[-1] - created.at_s[0])
    return rate, (times.user + times.system) / PODS * 1000


def _controller(kubeconfig: pathlib.Path, folder: pathlib.Path, workers: int) -> processes.Process:
    options = ("--kubeconfig", str(kubeconfig), "--set", f"workers={workers}")
    return processes.start_ready(
        "claim-controller",
        processes.command("part", "claim-controller", *options),
        log=folder / "log",
        ready=folder / "ready",
        timeout_s=TIMEOUT_S,
    )


def _create_pods(client: clients.Client) -> None:
    template = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "one"},
        "spec": {"spec": {"devices": clusters.CLAIMS[""]}},
    }
    _send(client, _TEMPLATES, [template])
    _send(client, _PODS, [_pod(f"bench-{number}") for number in range(PODS)])


def _pod(name: str) -> Object:
    pod = clusters.pod(name, "")
    pod["spec"]["resourceClaims"] = [{"name": "c", "resourceClaimTemplateName": "one"}]
    return pod


def _send(client: clients.Client, path: str, objects: list[Object]) -> None:
    client.send_all(client.request("POST", path, json.dumps(item).encode()) for item in objects)
