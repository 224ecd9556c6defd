"""Claims on nodes: by a driver in the kubelets' process, and by one behind its socket.

Pods of one kubelet are prepared and unprepared one after the other, with 1 and 8 claims each; each
claim is read from an embedded API server, behind a socket by the driver, too. Once more, while the
node has many other claims. Then whole runs of `pod-churn`.
"""

import contextlib
import pathlib
import tempfile
import time
from collections.abc import Iterator

from harness import processes
from harness.client import apis, transports
from harness.cluster import embedded_cluster
from harness.cluster.dra import driver_calls, node_claims
from harness.cluster.dra.plugins import socket_drivers
from harness.model.objects import Object
from harness.run import run_plan, runs
from harness.scenario import driver_specs, loading

DRIVER, NODE, NAMESPACE = "gpu.example", "worker-0", "default"
PODS, CLAIMS, OTHERS = 200, (1, 8), 1000
START_S = 60.0
SCENARIO, KINDS = "pod-churn", ("in-process", "socket")
Figures = Iterator[tuple[str, float, str]]


def measure() -> Figures:
    """Measure pods of one kubelet, then one run with either driver."""
    with contextlib.ExitStack() as running:
        folder = pathlib.Path(running.enter_context(tempfile.TemporaryDirectory(prefix="b-")))
        cluster = embedded_cluster.up("bench", folder)
        running.callback(cluster.down)
        api = apis.Api(transports.connect(cluster.kubeconfig))
        behind = running.enter_context(_socket(folder, cluster.kubeconfig))
        for count in CLAIMS:
            pod = _pod(api, count)
            for name, drivers in (("in process", None), ("behind a socket", behind)):
                what = f"{count} claims a pod, the driver {name}"
                yield what, _rate(api, folder, pod, drivers), "pods/s"
        beside = _pod(api, OTHERS)
        for name, drivers in (("in process", None), ("behind a socket", behind)):
            what = f"the same beside {OTHERS:,} claims, the driver {name}"
            yield what, _rate(api, folder, pod, drivers, beside), "pods/s"
    for kind in KINDS:
        yield f"{SCENARIO}, subject.driver = {kind}", _run(kind), "claims/s"


@contextlib.contextmanager
def _socket(folder: pathlib.Path, kubeconfig: pathlib.Path) -> Iterator[driver_calls.Drivers]:
    """Start the driver as a process, and find it."""
    process = processes.start_ready(
        "driver",
        processes.command(
            *("part", "driver", "--kubeconfig", str(kubeconfig), "--driver-name", DRIVER),
            *("--node", NODE),
            *processes.changed(plugins_dir=f"{folder}/p", registry_dir=f"{folder}/r"),
            *("--set", f"cdi_dir={folder}/cdi", "--state", f"{folder}/state"),
        ),
        log=folder / "driver.log",
        ready=folder / "ready",
        timeout_s=START_S,
    )
    drivers = socket_drivers.SocketDrivers(f"{folder}/r", note=lambda _: None)
    drivers.start([NODE])
    drivers.wait_registered([DRIVER], [NODE], timeout_s=START_S)
    yield drivers
    drivers.stop()
    process.kill()


def _pod(api: apis.Api, count: int) -> Object:
    """Create allocated claims; return a pod that uses them all."""
    uid, names = f"uid-{count}", [f"claim-{count}-{number}" for number in range(count)]
    for name in names:
        request = {"name": "r", "exactly": {"deviceClassName": DRIVER}}
        document = {"metadata": {"name": name}, "spec": {"devices": {"requests": [request]}}}
        api.create(apis.CLAIMS, document, namespace=NAMESPACE)
        result = {"request": "r", "driver": DRIVER, "pool": "p", "device": name}
        user = {"resource": "pods", "name": "p", "uid": uid}
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]}
        patch = {"status": status}
        api.patch(apis.CLAIMS, name, patch, namespace=NAMESPACE, subresource="status")
    entries = [{"name": name, "resourceClaimName": name} for name in names]
    spec = {"nodeName": NODE, "resourceClaims": entries, "containers": []}
    return {"metadata": {"namespace": NAMESPACE, "name": "p", "uid": uid}, "spec": spec}


def _rate(
    api: apis.Api,
    folder: pathlib.Path,
    pod: Object,
    drivers: driver_calls.Drivers | None,
    beside: Object | None = None,
) -> float:
    """Return how often a second the claims of a pod are prepared and unprepared.

    The claims of another pod are prepared before.
    """
    claims = node_claims.NodeClaims(
        api,
        node_claims.NodeClaimsOptions(
            driver=driver_specs.DriverSpec(exclusivity=True),
            drivers=drivers,
            cdi=f"{folder}/cdi" if drivers else "",
            state=folder / "kubelet",
        ),
    )
    if beside:
        claims.prepare(beside)
    started = time.perf_counter()
    for _ in range(PODS):
        claims.prepare(pod)
        claims.unprepare(NODE, pod["metadata"]["uid"])
    seconds = time.perf_counter() - started
    if beside:
        claims.unprepare(NODE, beside["metadata"]["uid"])
    claims.close()
    return PODS / seconds


def _run(kind: str) -> float:
    """Return the claims that a whole run allocates in a second."""
    with tempfile.TemporaryDirectory() as folder:
        loaded = loading.load(SCENARIO, overrides=[f"subject.driver={kind}"])
        plan = run_plan.plan(loaded, seed=1)
        directory = runs.new_directory(plan, pathlib.Path(folder))
        return runs.run(loaded, plan, directory).figures.allocations_per_s or 0.0
