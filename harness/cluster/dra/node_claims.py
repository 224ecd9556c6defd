"""The claims of all fake nodes: one DRA manager for each node, and the driver that serves them."""

import dataclasses
import pathlib

from harness import concurrency, writing
from harness.client import apis
from harness.cluster.dra import (
    claim_managers,
    containers,
    kubelet_metrics,
    kubelet_parts,
    pod_claims,
)
from harness.cluster.dra import preparation_journals as journals
from harness.metrics import metric_families
from harness.model.objects import Object
from harness.scenario import driver_specs

_CHECKPOINT, _CDI = "checkpoints", "cdi"
"""Folders below the state folder: a file, and a folder, for each node."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NodeClaimsOptions:
    """The files of the nodes, and the behaviour of their driver."""

    driver: driver_specs.DriverSpec
    state: pathlib.Path | None = None
    """Folder for checkpoints and CDI files; None: keep everything in memory."""
    journal: pathlib.Path | None = None
    """Journal of preparations; None: no journal."""
    parts: kubelet_parts.KubeletParts = kubelet_parts.CORRECT
    """The classes that do the work, with known defects if there are to be any."""
    run_id: str = ""
    seed: int = 0


class NodeClaims:
    """Prepares the claims of pods on any node. Thread-safe.

    A pod is handled by one thread at a time.
    """

    def __init__(self, api: apis.Api, options: NodeClaimsOptions) -> None:
        """Continue with the claims of the state folder.

        Raises UsageError if a checkpoint is damaged, StorageError or UnwritableError if the folder
        or the journal cannot be written.
        """
        self._api, self._state, self._parts = api, options.state, options.parts
        self.termination_s = options.driver.termination_s
        """Seconds that containers run on after the deletion of their pod was asked for."""
        self._cdi = _below(options.state, _CDI)
        self._driver = self._parts.driver(options.driver, folder=self._cdi, seed=options.seed)
        self._metrics = kubelet_metrics.KubeletMetrics()
        self._guard = concurrency.lock("kubelet.nodes")
        self._managers: dict[str, claim_managers.ClaimManager] = {}
        self._nodes: dict[str, str] = {}
        """uid of a pod that may use claims -> its node."""
        self._checkpoints = _below(options.state, _CHECKPOINT)
        self._journal = journals.PreparationJournal(options.journal, run_id=options.run_id)
        for path in sorted(self._checkpoints.glob("*.json") if self._checkpoints else ()):
            self._restore(path.stem)

    def pods(self) -> set[tuple[str, str]]:
        """Return `namespace/name` and uid of the pods that use claims."""
        with self._guard:
            managers = list(self._managers.values())
        return {pod for manager in managers for pod in manager.pods()}

    def metrics(self) -> list[metric_families.Family]:
        """Return the metrics of all nodes."""
        with self._guard:
            managers = list(self._managers.values())
        return self._metrics.collect([info for manager in managers for info in manager.infos()])

    def is_used_by(self, pod_uid: str) -> bool:
        """Return whether a pod may use claims."""
        with self._guard:
            return pod_uid in self._nodes

    def prepare(self, pod: Object) -> None:
        """Prepare the claims of a pod on its node.

        Raises PreparationError if one cannot be prepared now, ApiError and TransportError if one
        cannot be read.
        """
        claims = pod_claims.of(pod)
        if claims:
            node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
            with self._guard:
                self._nodes[uid] = node
                manager = self._manager(node)
            with self._metrics.operation(kubelet_metrics.PREPARE):
                manager.prepare(pod, claims)

    def start_containers(self, pod: Object) -> None:
        """Journal what the containers of a pod find in their environment, after `prepare`.

        Raises PreparationError if a CDI file cannot be read.
        """
        node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
        with self._guard:
            manager = self._managers.get(node)
        infos = manager.infos(uid) if manager is not None else []
        if infos and self._cdi is not None:
            found = containers.environments(pod, infos, self._cdi / node)
            self._journal.started(node, pod, found)

    def unprepare(self, pod_uid: str) -> None:
        """Unprepare the claims that only this pod uses; do nothing for an unknown pod.

        Raises PreparationError if the driver fails.
        """
        with self._guard:
            node = self._nodes.get(pod_uid)
            manager = self._managers.get(node or "")
        if manager is not None:
            with self._metrics.operation(kubelet_metrics.UNPREPARE):
                manager.unprepare(pod_uid)
        with self._guard:
            self._nodes.pop(pod_uid, None)

    def stop(self) -> None:
        """End the waits of the driver."""
        self._driver.stop()

    def close(self) -> None:
        """Close the journal, after the last call."""
        self._journal.close()

    def _restore(self, node: str) -> None:
        manager = self._manager(node)
        self._nodes.update((uid, node) for _, uid in manager.pods())

    def _manager(self, node: str) -> claim_managers.ClaimManager:
        found = self._managers.get(node)
        if found is None:
            path = self._checkpoints / f"{node}.json" if self._checkpoints else None
            found = self._managers[node] = self._parts.manager(
                node,
                get_claim=self._get_claim,
                driver=self._driver,
                checkpoint=self._parts.checkpoint(path),
                journal=self._journal,
                metrics=self._metrics,
            )
        return found

    def _get_claim(self, namespace: str, name: str) -> Object | None:
        try:
            return self._api.get(apis.CLAIMS, name, namespace=namespace)
        except apis.ApiError as error:
            if not error.is_not_found:
                raise
            return None


def _below(state: pathlib.Path | None, name: str) -> pathlib.Path | None:
    """Return a folder of the state folder, which is created."""
    if state is None:
        return None
    folder = state / name
    with writing.explained(folder):
        folder.mkdir(parents=True, exist_ok=True)
    return folder
