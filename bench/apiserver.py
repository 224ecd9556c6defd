"""Creates and status updates a second on the embedded API server, with no watches and with five."""

import pathlib
import tempfile
import threading
import time
from collections.abc import Iterator

from harness.client import apis, transports
from harness.cluster import embedded

CREATES = 2000
CLIENTS = 4
WATCHES = 5
NAMESPACE = "default"


def measure() -> Iterator[tuple[str, float, str]]:
    """One server for each number of watches."""
    for watches in (0, WATCHES):
        with tempfile.TemporaryDirectory() as folder:
            cluster = embedded.up("bench", pathlib.Path(folder))
            try:
                rate = _creates_per_s(cluster.kubeconfig, watches)
            finally:
                cluster.down()
        yield f"pods created by {CLIENTS} clients, {watches} watches", rate, "creates/s"


def _creates_per_s(kubeconfig: pathlib.Path, watches: int) -> float:
    api = apis.Api(transports.connect(kubeconfig))
    version = api.list(apis.PODS, namespace=NAMESPACE).resource_version
    followed = [
        api.watch(apis.PODS, namespace=NAMESPACE, resource_version=version) for _ in range(watches)
    ]
    readers = [threading.Thread(target=_read, args=(watch,), daemon=True) for watch in followed]
    writers = [
        threading.Thread(target=_create, args=(kubeconfig, index), daemon=True)
        for index in range(CLIENTS)
    ]
    started = time.perf_counter()
    for thread in (*readers, *writers):
        thread.start()
    for thread in (*writers, *readers):
        thread.join()
    return CREATES / (time.perf_counter() - started)


def _create(kubeconfig: pathlib.Path, client: int) -> None:
    api = apis.Api(transports.connect(kubeconfig))
    for index in range(CREATES // CLIENTS):
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"pod-{client}-{index}"},
            "spec": {"containers": [{"name": "work", "image": "none"}]},
        }
        api.create(apis.PODS, pod, namespace=NAMESPACE)


def _read(watch: transports.Watch) -> None:
    """Until the watch has shown every pod: a server that answers first and tells later is not faster."""
    seen = 0
    for line in watch:
        seen += line.startswith(b'{"type":"ADDED"')
        if seen == CREATES:
            watch.close()
            return
