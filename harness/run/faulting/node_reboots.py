"""A node is rebooted: its processes are killed, and what it keeps in memory is gone."""

import pathlib
import random
import shutil
import uuid
from collections.abc import Sequence

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
        drivers: Sequence[str] = (),
        cdi: pathlib.Path | None = None,
    ) -> None:
        """`state` is the state folder of the kubelet of the node.

        `drivers` are the processes of the driver on the node, and `cdi` is the folder of their
        files; none and None: the driver is in the kubelet's process.
        """
        super().__init__(fault, journal, processes, guard)
        self._node, self._state, self._boot_ids = node, state, boot_ids
        self._drivers, self._cdi = drivers, cdi

    def _act(self, ending: injecting.Ending, process: str) -> None:
        with self._effect(process, f"{self._node} was rebooted"):
            self._down = process
            for name in (process, *filter(None, map(self._processes.living, self._drivers))):
                self._processes.kill(name, fault=self._fault.name)
            if self._cdi is not None:
                shutil.rmtree(self._cdi, ignore_errors=True)
            node_boots.reboot(self._state, self._node, self._next_boot_id())
            ending.over.wait(self._parameters["down_s"])
            if not ending.is_abandoned:
                self._start_again(process)

    def _start_again(self, process: str) -> None:
        for name in self._drivers:
            self._processes.start_again(name)
        super()._start_again(process)

    def _next_boot_id(self) -> str:
        return str(uuid.UUID(int=self._boot_ids.getrandbits(128), version=4))
