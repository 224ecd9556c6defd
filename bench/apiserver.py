"""The embedded API server: throughput, latency, CPU time, memory, and the effect of bad clients.

CPU times are those of the server's process alone, and so are meaningful on a busy machine too.
"""

import contextlib
import functools
import itertools
import pathlib
import random
import re
import tempfile
import time
from collections.abc import Iterator

import psutil

from bench import clients
from harness import clocks, processes
from harness.apiserver import json_codec, persistence
from harness.apiserver.json_codec import Document
from harness.apiserver.registry import store as stores
from harness.apiserver.scheme import resources
from harness.apiserver.storage import stored_objects, watch_cache

CREATES = 2000
CLAIMS_LISTED = 10_000
LOGGED = 100_000
IDLE = 500
MALFORMED = 10_000
PODS = "/api/v1/namespaces/default/pods"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"
ALLOCATED = {
    "status": {
        "allocation": {
            "devices": {
                "results": [
                    {"request": "one", "driver": "bench.example", "pool": "p", "device": "d-1"}
                ]
            }
        }
    }
}
PODS_LISTED = 10_000
LONG_RESPONSES = (
    ("a list of one pod", f"{PODS}?limit=1", "application/json"),
    (f"a list of {PODS_LISTED} pods", PODS, "application/json"),
    ("one page of it", f"{PODS}?limit=500", "application/json"),
    ("the same as a table", PODS, "application/json;as=Table;v=v1;g=meta.k8s.io"),
    ("a watch that begins with it", f"{PODS}?watch=true&timeoutSeconds=2", "application/json"),
)
START_TIMEOUT_S = 60.0

Figures = Iterator[tuple[str, float, str]]
_NAME = re.compile(rb'"name":"(bench-\d+)"')


class Server:
    """A running server process and a client of it."""

    def __init__(self, process: processes.Process, folder: pathlib.Path) -> None:
        self._process = psutil.Process(process.pid)
        self._numbers = itertools.count()
        self.kubeconfig = folder / "tls"
        self.client = clients.Client(folder / "plain")

    def memory_bytes(self) -> int:
        """Return the server's resident memory."""
        return int(self._process.memory_info().rss)

    def cpu_s(self) -> float:
        """Return the CPU time that the server has used."""
        times = self._process.cpu_times()
        return float(times.user + times.system)

    def new_pods(self, count: int) -> Iterator[bytes]:
        """Yield requests that create pods with new names."""
        for number in itertools.islice(self._numbers, count):
            pod = {
                "metadata": {"name": f"bench-{number}"},
                "spec": {"containers": [{"name": "work", "image": "none"}]},
            }
            yield self.client.request("POST", PODS, json_codec.encode(pod))

    def creates(self, *, watches: int) -> tuple[float, float]:
        """Return creates per second, and the server's CPU time for each in µs."""
        with self.client.watching(PODS, watches) as readers:
            started, cpu_s = time.perf_counter(), self.cpu_s()
            self.client.send_all(self.new_pods(CREATES), readers=readers)
            seconds = time.perf_counter() - started
        return CREATES / seconds, (self.cpu_s() - cpu_s) / CREATES * 1e6


@contextlib.contextmanager
def served(*options: str) -> Iterator[Server]:
    """Run a server with these options."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        process = processes.start_ready(
            "apiserver",
            processes.command(
                *("part", "apiserver", "--kubeconfig", f"{folder}/tls"),
                *("--set", f"plain_kubeconfig={folder}/plain", *options),
            ),
            log=folder / "log",
            ready=folder / "ready",
            timeout_s=START_TIMEOUT_S,
        )
        try:
            yield Server(process, folder)
        finally:
            process.kill()


def measure() -> Figures:
    """Yield all figures; each part takes well below 20 s."""
    yield from measure_creates()
    yield from measure_claims()
    yield from measure_latencies()
    yield from measure_pauses()
    yield from measure_logs()
    yield from measure_restart()
    yield from measure_bad_clients()


def measure_creates() -> Figures:
    """Create pods while 0, 5 and 50 clients watch them."""
    for watches in (0, 5, 50):
        with served() as server:
            rate, cpu_us = server.creates(watches=watches)
        yield f"pods created by {clients.CLIENTS} clients, {watches} watches", rate, "creates/s"
        yield f"  CPU time of the server for each, {watches} watches", cpu_us, "µs"


def measure_claims() -> Figures:
    """List many claims, and write the status of some."""
    with served() as server:
        client = server.client
        claims = [claim(number) for number in range(CLAIMS_LISTED)]
        client.send_all(client.request("POST", CLAIMS, json_codec.encode(item)) for item in claims)
        started = time.perf_counter()
        listed = client.get(CLAIMS)
        seconds = time.perf_counter() - started
        yield f"a list of {CLAIMS_LISTED} claims, {len(listed) / 1e6:.1f} MB", seconds * 1e3, "ms"
        names = [item["metadata"]["name"] for item in claims[:CREATES]]
        body = json_codec.encode(ALLOCATED)
        started, cpu_s = time.perf_counter(), server.cpu_s()
        client.send_all(client.request("PATCH", f"{CLAIMS}/{name}/status", body) for name in names)
        seconds, cpu_s = time.perf_counter() - started, server.cpu_s() - cpu_s
        yield "status updates (allocations)", CREATES / seconds, "updates/s"
        yield "  CPU time of the server for each", cpu_s / CREATES * 1e6, "µs"


def claim(number: int) -> Document:
    """Return a claim for one device."""
    request = {"name": "one", "exactly": {"deviceClassName": "bench.example"}}
    return {
        "metadata": {"name": f"claim-{number}"},
        "spec": {"devices": {"requests": [request]}},
    }


def measure_latencies() -> Figures:
    """Measure the time from a create to its response and to its event, under load."""
    with served() as server:
        begun: dict[bytes, float] = {}
        seen: dict[bytes, float] = {}

        def requests() -> Iterator[bytes]:
            for request in server.new_pods(CREATES):
                match = _NAME.search(request)
                begun[match[1] if match else b""] = time.perf_counter()
                yield request

        def on_event(text: bytes) -> None:
            now = time.perf_counter()
            for name in _NAME.findall(text):
                seen.setdefault(name, now)

        with server.client.watching(PODS, 5) as readers:
            responses = server.client.send_all(requests(), readers=readers, on_event=on_event)
    events = [seen[name] - begun[name] for name in seen]
    for what, durations in (("response", sorted(responses)), ("event", sorted(events))):
        for percent in (50, 99, 100):
            value = durations[min(len(durations) * percent // 100, len(durations) - 1)] * 1e3
            yield f"from a create to its {what} under load, p{percent}", value, "ms"


def measure_pauses() -> Figures:
    """Measure the longest wait of a client while another requests a long response."""
    with served() as server:
        client = server.client
        client.send_all(server.new_pods(PODS_LISTED))
        for what, path, accept in LONG_RESPONSES:
            ask = functools.partial(client.get, path, accept=accept)
            seconds = client.longest_wait_s("/api/v1/namespaces/default", during=ask)
            yield f"the longest wait of another client during {what}", seconds * 1e3, "ms"


def measure_logs() -> Figures:
    """Measure the CPU time of a create without and with a journal, and with an audit log."""
    for what in ("in memory only", "with a data directory"):
        with tempfile.TemporaryDirectory() as data:
            log = ["--data-dir", data] if what != "in memory only" else []
            with served(*log) as server:
                _, cpu_us = server.creates(watches=5)
        yield f"CPU time of the server for each create {what}", cpu_us, "µs"
    with (
        tempfile.TemporaryDirectory() as folder,
        served("--set", f"audit_log={folder}/log") as server,
    ):
        _, cpu_us = server.creates(watches=5)
    yield "CPU time of the server for each create with an audit log", cpu_us, "µs"


def measure_restart() -> Figures:
    """Measure the start of an empty server and of one with many objects, and their memory."""
    started = time.perf_counter()
    with served() as server:
        yield "a start", time.perf_counter() - started, "s"
        empty = server.memory_bytes()
        server.client.send_all(server.new_pods(1))
        pod = json_codec.decode(server.client.get(f"{PODS}/bench-0"))
    with tempfile.TemporaryDirectory() as name:
        data = pathlib.Path(name, "data")
        write_log(data, pod)
        started = time.perf_counter()
        with served("--data-dir", str(data)) as server:
            yield f"a start from a log of {LOGGED} writes", time.perf_counter() - started, "s"
            kib = (server.memory_bytes() - empty) / LOGGED / 1024
            size = len(json_codec.encode(pod)) / 1024
            yield f"memory for each of {LOGGED} pods, of {size:.2f} KiB each as JSON", kib, "KiB"


def write_log(data: pathlib.Path, pod: Document) -> None:
    """Write the journal of a server that has stored many copies of a pod."""
    data.mkdir()
    store = stores.Store(now=clocks.wall_text, stream=random.Random(1))
    _, journal = persistence.open_journal(data, lambda _: store)
    version = store.resource_version
    for number in range(LOGGED):
        pod["metadata"] |= {"name": f"pod-{number}", "uid": f"{number:036}"}
        stored = stored_objects.store(pod, version + 1 + number)
        journal.append(watch_cache.Commit(resource=resources.PODS, type="ADDED", object=stored))
    journal.close()


def measure_bad_clients() -> Figures:
    """Measure CPU time and memory without and with idle, unread and malformed connections."""
    with served() as server:
        server.creates(watches=5)  # warm
        _, before_us = server.creates(watches=5)
        memory = server.memory_bytes()
        with server.client.idle(IDLE), server.client.deaf(PODS):
            server.client.malformed(MALFORMED)
            grown_mb = (server.memory_bytes() - memory) / 1e6
            _, after_us = server.creates(watches=5)
    yield "CPU time of the server for each create, well-behaved clients only", before_us, "µs"
    yield f"  with {IDLE} idle ones, an unread watch, after {MALFORMED} malformed", after_us, "µs"
    yield "  growth of memory by these", grown_mb, "MB"
