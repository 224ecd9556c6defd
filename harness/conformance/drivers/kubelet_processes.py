"""The project's kubelet as a process of the test, and pods for it."""

import pathlib
import shutil
from collections.abc import Sequence
from typing import Any

from harness import clocks, errors, processes
from harness.client import apis
from harness.cluster.dra import claim_infos, node_claims
from harness.conformance import results
from harness.conformance.drivers import cluster_objects, driver_calls, driver_folders

_READY_S = 30.0
_CLAIM_OF_POD, _IMAGE = "claim", "registry.example/none"
Requests = Sequence[tuple[int, str]]
"""Index of a claim and name of its request, for each container of a pod."""


class Kubelet:
    """One kubelet process, which keeps its checkpoint over a restart."""

    def __init__(
        self,
        folders: driver_folders.Folders,
        *,
        kubeconfig: pathlib.Path,
        node: str,
        namespace: str,
        driver: str,
        defects: Sequence[str],
    ) -> None:
        """It is ready when `driver` is registered."""
        self._folders, self._state = folders, folders.root / "kubelet"
        self._process: processes.Process | None = None
        self._checkpoint = self._state / node_claims.CHECKPOINTS / f"{node}.json"
        paths = ("--kubeconfig", kubeconfig, "--node", node, "--state", self._state)
        self._options = [str(word) for word in (*paths, "--plugins-registry", folders.registry)]
        self._options += processes.changed(
            namespace=namespace, cdi_dir=folders.cdi, wait_for_driver=driver
        )
        self._options += [word for name in defects for word in ("--defect", name)]

    def start(self) -> None:
        """Start it, and wait until the driver is registered.

        Raises ProcessError and WaitTimeoutError.
        """
        ready = self._folders.root / "kubelet.ready"
        ready.unlink(missing_ok=True)
        self._process = processes.start_ready(
            "kubelet",
            processes.command("part", "kubelet", *self._options),
            log=self._folders.root / "kubelet.log",
            ready=ready,
            timeout_s=_READY_S,
        )

    def kill(self) -> None:
        """Kill it (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process = None

    def claims(self) -> list[claim_infos.ClaimInfo]:
        """Return the claims of its checkpoint, with what the drivers answered for them."""
        return claim_infos.Checkpoint(self._checkpoint).load()

    def forget(self) -> None:
        """Kill it, and remove its checkpoint."""
        self.kill()
        shutil.rmtree(self._state, ignore_errors=True)


class Pods:
    """Pods of a test, all in one namespace and on one node."""

    def __init__(
        self,
        objects: cluster_objects.ClusterObjects,
        *,
        namespace: str,
        node: str,
        timeout_s: float,
    ) -> None:
        self._objects, self._node, self._timeout_s = objects, node, timeout_s
        self._api, self._namespace = objects.api, namespace
        self._names: list[str] = []

    def make(
        self, name: str, claims: Sequence[driver_calls.Claim], requests: Requests = ()
    ) -> None:
        """Make a pod that is bound to the node, and reserve its claims for it, too.

        It has a container for each of `requests`, or one for all claims.
        """
        self._names.append(name)
        document = self._document(name, claims, requests)
        pod = self._api.create(apis.PODS, document, namespace=self._namespace)
        for claim in claims:
            self._reserve(claim, name, pod["metadata"]["uid"])

    def require_running(self, name: str) -> None:
        """Wait until a pod runs. Raises Failed with the pod's events."""
        self._require(lambda: self._phase(name) == "Running", name, "does not run")

    def end(self, name: str) -> None:
        """Delete a pod, and wait until it is gone. Raises Failed if it stays."""
        with apis.if_there():
            self._api.delete(apis.PODS, name, namespace=self._namespace)
        self._require(lambda: self._phase(name) == "", name, "stays Terminating")

    def remove_by_force(self, name: str) -> None:
        """Delete a pod from the API server at once, while its containers may still run."""
        self._objects.delete_now(apis.PODS, self._namespace, name)

    def remove_all(self) -> None:
        """Delete what is left of the pods."""
        names, self._names = self._names, []
        for name in names:
            self.remove_by_force(name)

    def _require(self, condition: Any, name: str, what: str) -> None:
        try:
            clocks.wait_until(condition, timeout_s=self._timeout_s, why=f"pod {name}")
        except errors.WaitTimeoutError:
            raise results.Failed(
                f"the pod {what} after {self._timeout_s:g} s{self._told(name)}"
            ) from None

    def _phase(self, name: str) -> str:
        pod = self._objects.found(apis.PODS, self._namespace, name)
        return str(pod.get("status", {}).get("phase", ""))

    def _told(self, name: str) -> str:
        """Return the last event about a pod, as part of a sentence."""
        items = self._api.list(apis.EVENTS, namespace=self._namespace).items
        texts = [
            item.get("message") or "" for item in items if item["involvedObject"]["name"] == name
        ]
        return f": {texts[-1]}" if texts else ""

    def _reserve(self, claim: driver_calls.Claim, pod: str, uid: str) -> None:
        found = self._objects.claim(claim.namespace, claim.name)
        before = found.get("status", {}).get("reservedFor") or []
        kept = [item for item in before if item["name"] in self._names]
        entry = {"resource": "pods", "name": pod, "uid": uid}
        self._objects.set_status(claim.namespace, claim.name, {"reservedFor": [*kept, entry]})

    def _document(
        self, name: str, claims: Sequence[driver_calls.Claim], requests: Requests
    ) -> cluster_objects.Object:
        names = {f"{_CLAIM_OF_POD}-{number}": claim for number, claim in enumerate(claims)}
        used = [[{"name": f"{_CLAIM_OF_POD}-{at}", "request": one}] for at, one in requests]
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {
                "nodeName": self._node,
                "containers": [
                    {"name": f"c-{at}", "image": _IMAGE, "resources": {"claims": entries}}
                    for at, entries in enumerate(used or [[{"name": key} for key in names]])
                ],
                "resourceClaims": [
                    {"name": key, "resourceClaimName": claim.name} for key, claim in names.items()
                ],
            },
        }
