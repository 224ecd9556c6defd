"""The boots of fake nodes: a reboot ends the containers of a node and empties its CDI folder.

The state folder of a kubelet process has the files of its nodes: the checkpoints survive a reboot,
CDI files do not, as `/var/run` is in memory. The file of a node in `boots` has its boot id; a node
without one was never rebooted. The kubelet compares it with the `bootID` of the Node, as a real one
does, and writes it there when all containers that the reboot has ended run again.
"""

import pathlib
import shutil
from collections.abc import Callable, Iterable

from harness import concurrency, writing
from harness.client import apis
from harness.cluster.dra import node_claims
from harness.cluster.fake_nodes import pod_queues
from harness.model.objects import Object

_BOOTS = "boots"
"""Folder below the state folder: a file for each node that was rebooted."""


def reboot(state: pathlib.Path, node: str, boot_id: str) -> None:
    """Let a node boot again while its kubelet does not run.

    Raises OSError if a file cannot be removed, StorageError or UnwritableError if one cannot be
    written.
    """
    cdi = state / node_claims.CDI / node
    if cdi.exists():
        shutil.rmtree(cdi)
    path = state / _BOOTS / node
    with writing.explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    writing.replace(path, boot_id.encode())


class NodeBoots:
    """The pods whose containers a reboot of their node has ended. Thread-safe."""

    def __init__(self, api: apis.Api, state: pathlib.Path | None) -> None:
        """`state`: the state folder of the kubelets; None: their nodes are never rebooted."""
        self._api, self._folder = api, None if state is None else state / _BOOTS
        self._guard = concurrency.lock("kubelet.boots")
        self._boot_ids: dict[str, str] = {}
        """Rebooted node -> its boot id, until the Node has it."""
        self._lost: dict[pod_queues.PodItem, str] = {}
        """Pod whose containers have to be started again -> its node."""

    def look(
        self,
        nodes: Iterable[Object],
        pods: Iterable[Object],
        rebooted: Callable[[str, str], None],
    ) -> list[pod_queues.PodItem]:
        """Return the running pods of nodes that were rebooted, before any of them is handled.

        `rebooted` is called with each such node and its boot id. Raises ApiError and
        TransportError if a Node cannot be written.
        """
        for node in nodes:
            if boot_id := self._new_boot_id(node):
                self._boot_ids[node["metadata"]["name"]] = boot_id
        self._lost = {
            pod_queues.of(pod): pod["spec"]["nodeName"]
            for pod in pods
            if pod["spec"].get("nodeName") in self._boot_ids and _runs(pod)
        }
        for name, boot_id in self._boot_ids.items():
            rebooted(name, boot_id)
        for name in set(self._boot_ids).difference(self._lost.values()):
            self._report(name)
        return sorted(self._lost)

    def is_lost(self, item: pod_queues.PodItem) -> bool:
        """Return whether the containers of a running pod have to be started again."""
        with self._guard:
            return item in self._lost

    def done(self, item: pod_queues.PodItem) -> None:
        """Note that the containers of a pod run again, or that the pod has ended.

        Raises ApiError and TransportError if its Node cannot be written.
        """
        with self._guard:
            node = self._lost.pop(item, None)
            is_last = node is not None and node not in self._lost.values()
        if node is not None and is_last:
            self._report(node)

    def _new_boot_id(self, node: Object) -> str:
        """Return the boot id of a node if it is not the one that its Node has; empty: it is."""
        path = None if self._folder is None else self._folder / node["metadata"]["name"]
        if path is None or not path.exists():
            return ""
        boot_id = path.read_text()
        return boot_id if node["status"]["nodeInfo"].get("bootID") != boot_id else ""

    def _report(self, node: str) -> None:
        status = {"nodeInfo": {"bootID": self._boot_ids[node]}}
        with apis.if_there():
            self._api.patch(apis.NODES, node, {"status": status}, subresource="status")


def _runs(pod: Object) -> bool:
    return bool(pod.get("status", {}).get("phase") == "Running")
