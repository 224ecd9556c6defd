"""The project's kubelet as a process of the test, and pods for it."""

import shutil
from collections.abc import Callable, Sequence

from harness import clocks, errors, processes
from harness.client import apis
from harness.cluster.dra import claim_infos, node_claims
from harness.conformance import claim_documents, cluster_objects, driver_folders, options, results
from harness.model.objects import Object

_READY_S = 30.0
Requests = Sequence[tuple[int, str]]
"""Index of a claim and name of its request, for each container of a pod."""


class Kubelet:
    """One kubelet process, which keeps its checkpoint over a restart."""

    def __init__(self, folders: driver_folders.Folders) -> None:
        self._folders, self._state = folders, folders.root / "kubelet"
        self._process: processes.Process | None = None

    def start(self, chosen: options.Options, *, namespace: str, driver: str) -> None:
        """Start it, or start it again, and wait until the driver is registered.

        Raises ProcessError and WaitTimeoutError.
        """
        self.kill()
        ready = self._folders.root / "kubelet.ready"
        ready.unlink(missing_ok=True)
        folders = ("--state", self._state, "--plugins-registry", self._folders.registry)
        words = ["--kubeconfig", chosen.plain_kubeconfig, "--node", chosen.node, *folders]
        words += processes.changed(
            namespace=namespace, cdi_dir=self._folders.cdi, wait_for_driver=driver
        )
        words += [word for name in chosen.defect for word in ("--defect", name)]
        self._process = processes.start_ready(
            "kubelet",
            processes.command("part", "kubelet", *map(str, words)),
            log=self._folders.root / "kubelet.log",
            ready=ready,
            timeout_s=_READY_S,
        )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def claims(self, node: str) -> list[claim_infos.ClaimInfo]:
        """Return the claims of its checkpoint, with what the drivers answered for them."""
        path = self._state / node_claims.CHECKPOINTS / f"{node}.json"
        return claim_infos.Checkpoint(path).load()

    def forget(self) -> None:
        self.kill()
        shutil.rmtree(self._state, ignore_errors=True)


class Pods:
    """Pods of a test, all on one node."""

    def __init__(
        self, objects: cluster_objects.ClusterObjects, *, node: str, timeout_s: float
    ) -> None:
        self._objects, self._node, self._timeout_s = objects, node, timeout_s
        self._names: list[str] = []

    def run(
        self, name: str, claims: Sequence[claim_documents.Claim], requests: Requests = ()
    ) -> None:
        """Make a pod that is bound to the node, and reserve its claims for it, too.

        It has a container for each of `requests`, or one for all claims. Raises Failed with the
        pod's last event if it does not run.
        """
        self._names.append(name)
        pod = self._objects.make(apis.PODS, name, self._spec(claims, requests))
        for claim in claims:
            status = self._objects.found(apis.CLAIMS, claim.name).get("status", {})
            before = status.get("reservedFor") or []
            kept = [item for item in before if item["name"] in self._names]
            entry = {"resource": "pods", "name": name, "uid": pod["metadata"]["uid"]}
            self._objects.set_status(claim.name, {"reservedFor": [*kept, entry]})
        self._require(lambda: self._phase(name) == "Running", name, "does not run")

    def end(self, name: str) -> None:
        """Delete a pod, and wait until it is gone. Raises Failed if it stays."""
        with apis.if_there():
            self._objects.api.delete(apis.PODS, name, namespace=self._objects.namespace)
        self._require(lambda: self._phase(name) == "", name, "stays Terminating")

    def remove_by_force(self, *names: str) -> None:
        """Delete pods from the API server at once, while their containers may still run."""
        for name in names:
            self._objects.remove(apis.PODS, name)

    def remove_all(self) -> None:
        self.remove_by_force(*self._names)
        self._names.clear()

    def _require(self, condition: Callable[[], bool], name: str, what: str) -> None:
        try:
            clocks.wait_until(condition, timeout_s=self._timeout_s, why=f"pod {name}")
        except errors.WaitTimeoutError:
            waited = f"the pod {what} after {self._timeout_s:g} s"
            raise results.Failed(f"{waited}{self._told(name)}") from None

    def _phase(self, name: str) -> str:
        return str(self._objects.found(apis.PODS, name).get("status", {}).get("phase", ""))

    def _told(self, name: str) -> str:
        """Return the last event about a pod, as part of a sentence."""
        items = self._objects.api.list(apis.EVENTS, namespace=self._objects.namespace).items
        texts = [
            item.get("message") or "" for item in items if item["involvedObject"]["name"] == name
        ]
        return f": {texts[-1]}" if texts else ""

    def _spec(self, claims: Sequence[claim_documents.Claim], requests: Requests) -> Object:
        used = [[{"name": f"claim-{at}", "request": request}] for at, request in requests]
        every = [{"name": f"claim-{at}"} for at, _ in enumerate(claims)]
        return {
            "nodeName": self._node,
            "containers": [
                {
                    "name": f"c-{at}",
                    "image": "registry.example/none",
                    "resources": {"claims": entries},
                }
                for at, entries in enumerate(used or [every])
            ],
            "resourceClaims": [
                {"name": f"claim-{at}", "resourceClaimName": claim.name}
                for at, claim in enumerate(claims)
            ],
        }
