"""One node, its kubelet, and pods on it: for tests of what a kubelet does for a pod."""

import contextlib
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

from harness import clocks
from harness.client import apis, transports
from harness.cluster import embedded_cluster
from harness.cluster.dra import claim_managers, node_claims
from harness.cluster.dra.plugins import socket_drivers
from harness.cluster.fake_nodes import fake_objects, kubelets
from harness.history import journal_reader, records
from harness.scenario import driver_specs

TIMEOUT_S = 60
NAMESPACE = "default"


class World:
    """One node, its kubelet, and pods that share one device."""

    def __init__(
        self, cluster: embedded_cluster.EmbeddedCluster, api: apis.Api, folder: pathlib.Path
    ) -> None:
        self.cluster, self.api, self.folder = cluster, api, folder
        self.starts = 0
        self.notes: list[str] = []
        self.plugins: socket_drivers.SocketDrivers | None = None
        self.registry = ""
        """Registry folder of drivers behind sockets; empty: the driver is in this process."""
        self.cdi = ""
        """Folder of their CDI files."""
        self.parts = claim_managers.CORRECT
        """The parts of the kubelet, with a known defect or without."""

    def start(self, **driver: Any) -> None:
        self.starts += 1
        self.transport = transports.connect(self.cluster.kubeconfig)
        if self.registry:
            self.plugins = socket_drivers.SocketDrivers(self.registry, note=print)
            self.plugins.start(["worker-0"])
        options = node_claims.NodeClaimsOptions(
            driver=driver_specs.DriverSpec(**driver),
            drivers=self.plugins,
            cdi=self.cdi,
            parts=self.parts,
            state=self.folder / "state",
            journal=self.folder / f"preparations-{self.starts}.jsonl",
        )
        own = apis.Api(self.transport)
        self.claims = node_claims.NodeClaims(own, options)
        self.kubelet = kubelets.Kubelets(
            own, self.claims, namespace=NAMESPACE, note=self.notes.append
        )
        self.kubelet.start()

    def stop(self) -> None:
        self.kubelet.stop()
        self.claims.close()
        self.transport.close()

    def messages(self, pod: str) -> list[str]:
        """Why a pod does not start, each reason once."""
        begin = f"pod {NAMESPACE}/{pod} does not start: "
        return [note.removeprefix(begin) for note in self.notes if note.startswith(begin)]

    def wait_message(self, pod: str, text: str) -> None:
        clocks.wait_until(
            lambda: any(text in message for message in self.messages(pod)),
            timeout_s=TIMEOUT_S,
            why=f"a note about {pod}: {text}",
        )

    def pod(
        self,
        name: str,
        *,
        command: Sequence[str] = (),
        parameters: Any = None,
        device: str = "d",
    ) -> Any:
        """A bound pod with a claim of its own, which has the device."""
        claim = f"claim-of-{name}"
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example"}}
        document = {"metadata": {"name": claim}, "spec": {"devices": {"requests": [request]}}}
        self.api.create(apis.CLAIMS, document, namespace=NAMESPACE)
        entry = {"name": "gpu", "resourceClaimName": claim}
        uses = {"claims": [{"name": "gpu"}]}
        container = {"name": "c", "image": "i", "command": list(command), "resources": uses}
        spec = {
            "containers": [container],
            "resourceClaims": [entry],
            "restartPolicy": "Never" if command else "Always",
        }
        document = {"metadata": {"name": name}, "spec": spec}
        pod = self.api.create(apis.PODS, document, namespace=NAMESPACE)
        result = {"request": "gpu", "driver": "gpu.example", "pool": "n", "device": device}
        user = {"resource": "pods", "name": name, "uid": pod["metadata"]["uid"]}
        opaque = {"driver": "gpu.example", "parameters": parameters}
        config = [{"source": "FromClaim", "opaque": opaque}] if parameters is not None else []
        devices = {"results": [result], "config": config}
        status = {"allocation": {"devices": devices}, "reservedFor": [user]}
        self.api.patch(
            apis.CLAIMS, claim, {"status": status}, namespace=NAMESPACE, subresource="status"
        )
        self.api.bind(pod, "worker-0")
        return pod

    def pod_of_template(self, name: str) -> None:
        """A bound pod whose status does not name the claim of its template."""
        entry = {"name": "gpu", "resourceClaimTemplateName": "template"}
        spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": [entry]}
        document = {"metadata": {"name": name}, "spec": spec}
        self.api.bind(self.api.create(apis.PODS, document, namespace=NAMESPACE), "worker-0")

    def delete(self, name: str, *, force: bool = False) -> None:
        grace_s = 0 if force else None
        self.api.delete(apis.PODS, name, namespace=NAMESPACE, grace_period_s=grace_s)

    def wait_prepared(self, name: str, *, times: int) -> None:
        clocks.wait_until(
            lambda: len(self.told(records.Prepared, f"claim-of-{name}")) == times,
            timeout_s=TIMEOUT_S,
            why=f"the claim of {name} to be prepared {times} times",
        )

    def wait_boot_id(self, wanted: str) -> None:
        def boot_id() -> Any:
            return self.api.get(apis.NODES, "worker-0")["status"]["nodeInfo"]["bootID"]

        clocks.wait_until(lambda: boot_id() == wanted, timeout_s=TIMEOUT_S, why="the boot id")

    def is_gone(self, name: str) -> bool:
        names = [i["metadata"]["name"] for i in self.api.list(apis.PODS, namespace=NAMESPACE).items]
        return name not in names

    def phase(self, name: str) -> str:
        return str(self.api.get(apis.PODS, name, namespace=NAMESPACE)["status"]["phase"])

    def wait_phase(self, name: str, phase: str) -> None:
        clocks.wait_until(
            lambda: self.phase(name) == phase, timeout_s=TIMEOUT_S, why=f"{name} to be {phase}"
        )

    def wait_running(self, name: str) -> None:
        self.wait_phase(name, "Running")

    def run(self, name: str, **options: Any) -> None:
        """Create a pod, and wait until it runs."""
        self.pod(name, **options)
        self.wait_running(name)

    def wait_gone(self, name: str) -> None:
        clocks.wait_until(lambda: self.is_gone(name), timeout_s=TIMEOUT_S, why=f"{name} to be gone")

    def journal(self) -> list[Any]:
        files = sorted(self.folder.glob("preparations-*.jsonl"))
        return [record for file in files for record in journal_reader.read(file).records]

    def told(self, kind: Any, claim: str) -> list[Any]:
        return [r for r in self.journal() if isinstance(r, kind) and r.claim == claim]

    def wait_told(self, kind: type, name: str) -> Any:
        claim = f"claim-of-{name}"
        clocks.wait_until(
            lambda: bool(self.told(kind, claim)),
            timeout_s=TIMEOUT_S,
            why=f"{kind.__name__} of {claim}",
        )
        return self.told(kind, claim)[0]


@contextlib.contextmanager
def made(
    cluster: embedded_cluster.EmbeddedCluster, api: apis.Api, folder: pathlib.Path
) -> Iterator[World]:
    """Yield a world whose kubelet is not started yet; remove its objects at the end."""
    api.create(apis.NODES, fake_objects.node_object("worker-0", labels={}))
    world = World(cluster, api, folder)
    yield world
    world.stop()
    clean(api)


def clean(api: apis.Api) -> None:
    """Remove the node and its objects."""
    for resource in (apis.PODS, apis.CLAIMS, apis.EVENTS):
        for item in api.list(resource, namespace=NAMESPACE).items:
            name = item["metadata"]["name"]
            api.delete(resource, name, namespace=NAMESPACE, grace_period_s=0)
    api.delete(apis.NODES, "worker-0")
