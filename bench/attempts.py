"""The scheduler alone: attempts per second of CPU time without an API server, and its memory.

PreFilter, Filter, Reserve and the assume cache are the real ones; a claim that was allocated is
deleted at once, so that the cluster stays as full as it is.
"""

import itertools
import multiprocessing
import multiprocessing.connection
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import psutil

from bench import clusters
from harness.client import apis, transports
from harness.subject.objects import claims
from harness.subject.scheduling import node_search, schedulers

Object = dict[str, Any]
Figures = Iterator[tuple[str, float, str]]
SECONDS = 1.0
SIZES = (100, 500, 5000)
THREADS = (4, 16)


def measure() -> Figures:
    """Yield the figures of each size, from a process of its own."""
    for nodes in SIZES:
        yield from _apart(nodes)


def _apart(nodes: int) -> list[tuple[str, float, str]]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=_send, args=(theirs, nodes))
    process.start()
    figures: list[tuple[str, float, str]] = ours.recv()
    process.join()
    return figures


def _send(to: multiprocessing.connection.Connection, nodes: int) -> None:
    to.send([*_figures(nodes)])


def _figures(nodes: int) -> Figures:
    cluster = Cluster(nodes)
    for percent in (0, 50, 100):
        cluster.fill(percent)
        name = f"{nodes} nodes x {clusters.DEVICES}, {percent} % in use"
        for kind, devices in clusters.CLAIMS.items():
            yield f"{name}{kind}", cluster.rate(devices, node_search.ALONE), "pods/CPU s"
        if (nodes, percent) == (SIZES[0], 50):
            yield from _with_threads(cluster, name)
    yield f"{nodes} nodes: a slice changes", cluster.changes_rate(), "changes/CPU s"
    memory = psutil.Process().memory_info().rss / 2**20
    yield f"{nodes} nodes, {len(cluster.held)} claims: memory of the scheduler", memory, "MiB"


def _with_threads(cluster: "Cluster", name: str) -> Figures:
    """Yield the rates of several Filter threads, for claims of which many nodes are looked at."""
    kind = ", firstAvailable"
    for parallelism in THREADS:
        options = node_search.SearchOptions(parallelism=parallelism)
        rate = cluster.rate(clusters.CLAIMS[kind], options)
        yield f"{name}{kind}, {parallelism} Filter threads", rate, "pods/CPU s"


class NoServer:
    """A transport that nothing is sent by."""

    def send(self, request: transports.Request) -> transports.Response:
        """Raise TransportError."""
        raise transports.TransportError(f"{request.path}: there is no server", sent=False)

    def watch(self, request: transports.Request) -> transports.Watch:
        """Raise TransportError."""
        raise transports.TransportError(f"{request.path}: there is no server", sent=False)

    def close(self) -> None:
        """Do nothing."""


class Cluster:
    """The parts of a scheduler that is not started, with nodes, devices and allocated claims."""

    def __init__(self, nodes: int) -> None:
        made = schedulers.Scheduler(apis.Api(NoServer()), schedulers.SchedulerOptions())
        self._cache, self._flight = made._cache, made._in_flight  # noqa: SLF001
        self._inventory, self._nodes = made._inventory, made._nodes  # noqa: SLF001
        self._plugin = made._plugin  # noqa: SLF001
        classes = {clusters.CLASS: clusters.device_class()}
        self._plugin._classes = lambda: classes  # noqa: SLF001
        self._numbers = itertools.count()
        self._free = clusters.devices_of(nodes)
        self._total = nodes * clusters.DEVICES
        self.held: list[Object] = []
        for index in range(nodes):
            self._nodes.on_add(_received(clusters.node(index)), initial=True)
            self._inventory.on_add(_received(clusters.slice_of(index)), initial=True)

    def fill(self, percent: int) -> None:
        """Allocate devices in order; 100 % leaves those of one node."""
        wanted = min(self._total * percent // 100, self._total - clusters.DEVICES)
        while len(self.held) < wanted:
            claim = clusters.claim(f"held-{len(self.held)}", clusters.CLAIMS[""])
            stored = claims.with_metadata(claim, uid=claim["metadata"]["name"], resourceVersion="1")
            device = next(self._free)
            stored["status"] = {
                "allocation": clusters.allocation([device]),
                "reservedFor": [{"resource": "pods", "name": "pod", "uid": str(uuid.uuid4())}],
            }
            self.held.append(_received(stored))
            self._cache.on_add(self.held[-1], initial=True)

    def rate(self, devices: Object, options: node_search.SearchOptions) -> float:
        """Return how many pods with such a claim are scheduled in a second of CPU time."""
        search = node_search.NodeSearch(self._plugin, options)
        return _rate(lambda: self._schedule(devices, search))

    def changes_rate(self) -> float:
        """Return how many changes of a slice the inventory takes in a second of CPU time."""
        return _rate(self._change)

    def _change(self) -> None:
        piece = clusters.slice_of(0)
        self._inventory.on_update(piece, piece)
        self._inventory.snapshot().view(clusters.node(0))

    def _schedule(self, devices: Object, search: node_search.NodeSearch) -> None:
        name = f"claim-{next(self._numbers)}"
        claim = claims.with_metadata(clusters.claim(name, devices), uid=name, resourceVersion="1")
        self._cache.on_add(claim, initial=False)
        pod = _pod_of(claim)
        attempt = self._plugin.pre_filter(pod)
        found = search.find(attempt, self._nodes.listed())
        if found is None:
            raise RuntimeError(f"expected a node for {name}, got none: {attempt.explanation()}")
        self._plugin.reserve(attempt, *found)
        bound = claims.with_status(claim, allocation=found[1][0])
        self._cache.assume(claims.with_metadata(bound, resourceVersion="2"))
        self._flight.remove(name)
        self._cache.on_delete(bound)


def _pod_of(claim: Object) -> Object:
    name = claim["metadata"]["name"]
    return claims.with_metadata(clusters.pod(f"of-{name}", name), uid=f"of-{name}")


def _received(obj: Object) -> Object:
    """Return an object as an informer has it, which shares nothing with others."""
    made: Object = msgspec.json.decode(msgspec.json.encode(obj))
    return made


def _rate(work: Callable[[], object]) -> float:
    work()  # what the first one finds out is known to the others
    count, started = 0, time.process_time()
    while time.process_time() - started < SECONDS:
        work()
        count += 1
    return count / (time.process_time() - started)
