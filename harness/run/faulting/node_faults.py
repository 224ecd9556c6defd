"""Faults of a node whose kubelet is a process of its own: it is lost, or rebooted.

Most clusters of runs have no node lifecycle controller. This module does its work for a lost node:
it taints the node, so that no pods come, and deletes the pods without waiting for their kubelet
(kubernetes#141471). The node comes back with another kubelet process, or it is removed with its
ResourceSlices.
"""

import contextlib
import shutil
import uuid

from harness import clocks, seeds
from harness.client import apis, transports
from harness.cluster.fake_nodes import node_boots
from harness.model.objects import Object
from harness.run.faulting import injecting, process_faults

TAINT = "node.kubernetes.io/unreachable"
"""Key of the taints of a node whose kubelet does not answer."""
SWEEP_S = 0.1
"""Seconds between two deletions of the pods of a lost node: a binding may still be under way."""
_UNREACHABLE = {
    "status": "Unknown",
    "reason": "NodeStatusUnknown",
    "message": "Kubelet stopped posting node status.",
}
_READY = {"status": "True", "reason": "KubeletReady", "message": "a fake kubelet is ready"}


def lose(it: injecting.Injection) -> None:
    on, node = process_faults.ProcessFault(it), _Node(it)
    comes_back, down_s = it.parameters["comes_back"], it.parameters["down_s"]

    def act(process: str) -> None:
        how = "came back" if comes_back else "was removed"
        with it.effect(process, f"{node.name} was lost and {how}"):
            on.end(process, kill=True)
            try:
                node.lose()
                if not comes_back:
                    node.remove()
                node.sweep_for(down_s if comes_back else float("inf"))
            finally:
                node.sweep()
                if comes_back:
                    on.start_again(process)
                    node.come_back()

    on.repeat(act)


class _Node:
    """The node in the cluster."""

    def __init__(self, it: injecting.Injection) -> None:
        self._it, self._api, self.name = it, it.connected(), it.stage.processes.lost_node

    def sweep_for(self, seconds: float) -> None:
        end_ns = clocks.monotonic_ns() + seconds * 1e9
        while True:
            self.sweep()
            left_s = (end_ns - clocks.monotonic_ns()) / 1e9
            if left_s <= 0 or self._it.wait(min(SWEEP_S, left_s)):
                return

    def lose(self) -> None:
        self._set_condition(_UNREACHABLE)
        self._set_taints([{"key": TAINT, "effect": kind} for kind in ("NoSchedule", "NoExecute")])

    def come_back(self) -> None:
        self._set_taints([])
        self._set_condition(_READY)

    def remove(self) -> None:
        for item in self._api.list(apis.SLICES).items:
            if item["spec"].get("nodeName") == self.name:
                with apis.if_there():
                    self._api.delete(apis.SLICES, item["metadata"]["name"])
        with apis.if_there():
            self._api.delete(apis.NODES, self.name)

    def sweep(self) -> None:
        """Delete the pods of the node by force; the API server may be away just now."""
        with contextlib.suppress(apis.ApiError, transports.TransportError):
            for pod in self._api.list(apis.PODS, namespace=self._it.stage.plan.namespace).items:
                if pod["spec"].get("nodeName") == self.name:
                    meta = pod["metadata"]
                    name, at = meta["name"], {"namespace": meta["namespace"], "uid": meta["uid"]}
                    with apis.if_there():
                        self._api.delete(apis.PODS, name, **at, grace_period_s=0)

    def _set_taints(self, taints: list[Object]) -> None:
        node = self._api.get(apis.NODES, self.name)
        others = [item for item in node["spec"].get("taints") or [] if item["key"] != TAINT]
        self._api.patch(apis.NODES, self.name, {"spec": {"taints": [*others, *taints]}})

    def _set_condition(self, ready: dict[str, str]) -> None:
        condition = {"type": "Ready", **ready, "lastTransitionTime": clocks.wall_text()}
        self._api.patch(
            apis.NODES,
            self.name,
            {"status": {"conditions": [condition]}},
            kind=apis.PatchKind.STRATEGIC,
            subresource="status",
        )


def reboot(it: injecting.Injection) -> None:
    """Kill the processes of a node; what it keeps in memory is gone."""
    on, run, plan = process_faults.ProcessFault(it), it.stage.processes, it.stage.plan
    boot_ids = seeds.Seeds(plan.seed).stream("boots", it.fault.name)

    def act(process: str) -> None:
        drivers = run.drivers_of_lost_node
        with it.effect(process, f"{run.lost_node} was rebooted"), on.down(*drivers, process):
            for name in (process, *filter(None, map(on.living, drivers))):
                on.end(name, kill=True)
            if run.cdi_of_lost_node is not None:
                shutil.rmtree(run.cdi_of_lost_node, ignore_errors=True)
            boot_id = uuid.UUID(int=boot_ids.getrandbits(128), version=4)
            state = it.stage.directory.kubelet_state(on.name)
            node_boots.reboot(state, run.lost_node, str(boot_id))

    on.repeat(act)
