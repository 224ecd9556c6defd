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
from harness.history import plans
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


class LostNode(process_faults.ProcessFault):
    """A node is lost, and comes back or does not."""

    def __init__(self, fault: plans.PlannedFault, stage: injecting.Stage) -> None:
        super().__init__(fault, stage)
        self._api, self._node = stage.connected(), stage.processes.lost_node
        self._comes_back, self._is_lost = self._parameters["comes_back"], False

    def heal(self, ending: injecting.Ending) -> None:
        """Let the node come back if it is to; delete the last pods of one that does not."""
        if self._is_lost:
            self._sweep()
        if self._is_lost and self._comes_back:
            super().heal(ending)
            self._come_back()
        self._api.transport.close()

    def _act(self, ending: injecting.Ending, process: str) -> None:
        how = "came back" if self._comes_back else "was removed"
        with self._effect(process, f"{self._node} was lost and {how}"):
            self._down = process if self._comes_back else ""
            self._processes.kill(process, fault=self._fault.name)
            self._lose()
            if not self._comes_back:
                self._remove()
                self._sweep_for(float("inf"), ending)
                return
            self._sweep_for(self._parameters["down_s"], ending)
            if not ending.is_abandoned:
                self._start_again(self._down)
                self._come_back()

    def _sweep_for(self, seconds: float, ending: injecting.Ending) -> None:
        end_ns = clocks.monotonic_ns() + seconds * 1e9
        while True:
            self._sweep()
            left_s = (end_ns - clocks.monotonic_ns()) / 1e9
            if left_s <= 0 or ending.over.wait(min(SWEEP_S, left_s)):
                return

    # ----------------------------------------------------------------------- the cluster

    def _lose(self) -> None:
        self._is_lost = True
        self._set_condition(_UNREACHABLE)
        self._set_taints([{"key": TAINT, "effect": kind} for kind in ("NoSchedule", "NoExecute")])

    def _come_back(self) -> None:
        self._set_taints([])
        self._set_condition(_READY)
        self._is_lost = False

    def _remove(self) -> None:
        for item in self._api.list(apis.SLICES).items:
            if item["spec"].get("nodeName") == self._node:
                with apis.if_there():
                    self._api.delete(apis.SLICES, item["metadata"]["name"])
        with apis.if_there():
            self._api.delete(apis.NODES, self._node)

    def _sweep(self) -> None:
        """Delete the pods of the node by force; the API server may be away just now."""
        with contextlib.suppress(apis.ApiError, transports.TransportError):
            for pod in self._api.list(apis.PODS, namespace=self._stage.plan.namespace).items:
                if pod["spec"].get("nodeName") == self._node:
                    self._delete(pod["metadata"])

    def _delete(self, meta: Object) -> None:
        with apis.if_there():
            self._api.delete(
                apis.PODS,
                meta["name"],
                namespace=meta["namespace"],
                uid=meta["uid"],
                grace_period_s=0,
            )

    def _set_taints(self, taints: list[Object]) -> None:
        node = self._api.get(apis.NODES, self._node)
        others = [item for item in node["spec"].get("taints") or [] if item["key"] != TAINT]
        self._api.patch(apis.NODES, self._node, {"spec": {"taints": [*others, *taints]}})

    def _set_condition(self, ready: dict[str, str]) -> None:
        condition = {"type": "Ready", **ready, "lastTransitionTime": clocks.wall_text()}
        self._api.patch(
            apis.NODES,
            self._node,
            {"status": {"conditions": [condition]}},
            kind=apis.PatchKind.STRATEGIC,
            subresource="status",
        )


class RebootedNode(process_faults.ProcessFault):
    """The processes of a node are killed, and what it keeps in memory is gone."""

    def __init__(self, fault: plans.PlannedFault, stage: injecting.Stage) -> None:
        super().__init__(fault, stage)
        self._boot_ids = seeds.Seeds(stage.plan.seed).stream("boots", fault.name)

    def _act(self, ending: injecting.Ending, process: str) -> None:
        run, node = self._stage.processes, self._stage.processes.lost_node
        with self._effect(process, f"{node} was rebooted"):
            self._down = process
            drivers = map(self._processes.living, run.drivers_of_lost_node)
            for name in (process, *filter(None, drivers)):
                self._processes.kill(name, fault=self._fault.name)
            if run.cdi_of_lost_node is not None:
                shutil.rmtree(run.cdi_of_lost_node, ignore_errors=True)
            boot_id = uuid.UUID(int=self._boot_ids.getrandbits(128), version=4)
            state = self._stage.directory.kubelet_state(self._process)
            node_boots.reboot(state, node, str(boot_id))
            ending.over.wait(self._parameters["down_s"])
            if not ending.is_abandoned:
                self._start_again(process)

    def _start_again(self, process: str) -> None:
        for name in self._stage.processes.drivers_of_lost_node:
            self._processes.start_again(name)
        super()._start_again(process)
