"""A node is rebooted: its processes are killed, and what it keeps in memory is gone."""

import pathlib
import random
import uuid

from harness import concurrency
from harness.cluster.fake_nodes import node_boots
from harness.history import plans
from harness.run.faulting import fault_journal, injecting, process_faults


class RebootedNode(process_faults.ProcessFault):
    """A node whose kubelet is a process of its own is rebooted."""

    def __init__(
        self,
        fault: plans.PlannedFault,
        journal: fault_journal.FaultJournal,
        processes: process_faults.Processes,
        guard: concurrency.Lock,
        *,
        node: str,
        state: pathlib.Path,
        boot_ids: random.Random,
    ) -> None:
        """`state` is the state folder of the kubelet of the node."""
        super().__init__(fault, journal, processes, guard)
        self._node, self._state, self._boot_ids = node, state, boot_ids

    def _act(self, ending: injecting.Ending, process: str) -> None:
        with self._effect(process, f"{self._node} was rebooted"):
            self._down = process
            self._processes.kill(process, fault=self._fault.name)
            node_boots.reboot(self._state, self._node, self._next_boot_id())
            ending.over.wait(self._parameters["down_s"])
            if not ending.is_abandoned:
                self._start_again(process)

    def _next_boot_id(self) -> str:
        return str(uuid.UUID(int=self._boot_ids.getrandbits(128), version=4))
