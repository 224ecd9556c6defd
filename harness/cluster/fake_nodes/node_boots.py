"""The boots of fake nodes: a reboot ends the containers of a node and what makes its devices ready.

The state folder of a kubelet process has the files of its nodes: the checkpoints survive a reboot,
CDI files do not, as `/var/run` is in memory. The file of a node in `boots` has its boot id; a node
without one was never rebooted. The kubelet compares it with the `bootID` of the Node, as a real one
does, and writes it there when all containers that the reboot has ended run again.
"""

import collections
import pathlib
from collections.abc import Iterable, Mapping

from harness import concurrency, writing
from harness.client import apis
from harness.cluster.dra import claim_infos, node_claims
from harness.cluster.fake_nodes import pod_queues
from harness.model.objects import Object

_BOOTS = "boots"
"""Folder below the state folder: a file for each node that was rebooted."""


def reboot(state: pathlib.Path, node: str, boot_id: str) -> None:
    """Let a node boot again while its kubelet does not run.

    Raises StorageError or UnwritableError if a file cannot be written.
    """
    checkpoint = claim_infos.Checkpoint(state / node_claims.CHECKPOINTS / f"{node}.json")
    infos = checkpoint.load()
    for info in infos:
        info.prepared = {}
    checkpoint.save(infos)
    path = state / _BOOTS / node
    with writing.explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    writing.replace(path, boot_id.encode())


class NodeBoots:
    """The nodes that were rebooted, and how many pods are to be started again. Thread-safe."""

    def __init__(self, api: apis.Api, state: pathlib.Path | None) -> None:
        """`state`: the state folder of the kubelets; None: their nodes are never rebooted."""
        self._api, self._folder = api, None if state is None else state / _BOOTS
        self._guard = concurrency.lock("kubelet.boots")
        self._boot_ids: dict[str, str] = {}
        """Rebooted node -> its boot id, until the Node has it."""
        self._lost: collections.Counter[str] = collections.Counter()
        """Node -> the number of its pods whose containers have to be started again."""

    def look(self, nodes: Iterable[Object]) -> Mapping[str, str]:
        """Return those of the nodes that were rebooted, with the boot ids that their Nodes lack."""
        for node in nodes:
            name = node["metadata"]["name"]
            path = None if self._folder is None else self._folder / name
            if path is not None and path.exists():
                boot_id = path.read_text()
                if node["status"]["nodeInfo"].get("bootID") != boot_id:
                    self._boot_ids[name] = boot_id
        return self._boot_ids

    def note_lost(self, pods: Iterable[pod_queues.PodState]) -> None:
        """Note the pods of these nodes that ran, before any of them is handled.

        Raises ApiError and TransportError if a Node cannot be written.
        """
        for pod in pods:
            pod.is_lost, pod.ends_s = True, None
            self._lost[pod.node] += 1
        for name in self._boot_ids.keys() - self._lost:
            self._report(name)

    def done(self, pod: pod_queues.PodState) -> None:
        """Note that the containers of a pod run again, or that the pod has ended.

        Raises ApiError and TransportError if its Node cannot be written.
        """
        if not pod.is_lost:
            return
        with self._guard:
            pod.is_lost = False
            self._lost[pod.node] -= 1
            is_last = not self._lost[pod.node]
        if is_last:
            self._report(pod.node)

    def _report(self, node: str) -> None:
        status = {"nodeInfo": {"bootID": self._boot_ids[node]}}
        with apis.if_there():
            self._api.patch(apis.NODES, node, {"status": status}, subresource="status")
