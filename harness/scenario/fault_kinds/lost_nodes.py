"""A node that is lost with its kubelet, and comes back or does not; or one that is rebooted."""

from collections.abc import Iterator, Sequence
from typing import Literal

from harness.scenario import traffic_specs
from harness.scenario.fault_kinds import fault
from harness.scenario.fields import Seconds

KUBELET = "kubelet-2"
"""Process of the kubelet of the node that may be lost or rebooted."""


class NodeFault(fault.RepeatedFault):
    """Base of faults of the last node, whose kubelet is a process of its own."""

    needs_own_kubelet = True

    def clients(self, run: fault.Run) -> list[str]:
        del run
        return [KUBELET]

    def ended_process(self, run: fault.Run) -> str:
        del run
        return KUBELET

    def objections(self, run: fault.Run) -> Iterator[str]:
        if run.pools.nodes < 2:
            yield "expected another node that is left, got pools.nodes = 1: add nodes"
        places = {kind.place for kind in run.pools.more}
        of_files = "several-nodes" in getattr(run.pools.imported, "has", ())
        if of_files or places & {"zone", "cluster"}:
            yield (
                "expected devices of one node each, because the driver of the last node is a "
                "process of its own, got pools of several nodes: remove them"
            )


class LoseNode(NodeFault):
    """The last node is lost: its kubelet is killed, and its pods are deleted by force."""

    kind: Literal["lose-node"]
    down_s: Seconds = 2.0
    """Seconds until it comes back with another kubelet process; its containers run on
    meanwhile."""
    comes_back: bool = True
    """false: it never does, and is removed with its ResourceSlices; `times` is 1 then."""

    effect = fault.Effect.LOST_NODE
    loses_node = True

    @property
    def length_s(self) -> float:
        away_s = self.down_s if self.comes_back else 0.0
        return self.times * away_s + (self.times - 1) * self.interval_s

    def objections(self, run: fault.Run) -> Iterator[str]:
        yield from super().objections(run)
        if isinstance(run.traffic, traffic_specs.AllAtOnceTraffic):
            yield (
                "expected a load that replaces the pods of the lost node, got traffic.profile = "
                "'all-at-once': use churn or shared"
            )
        if self.times > 1 and not self.comes_back:
            yield (
                f"expected times = 1 for a node that never comes back, got {self.times}: remove it"
            )

    def what(self, clients: Sequence[str]) -> str:
        end = f"comes back {self.down_s:g} s later" if self.comes_back else "is removed"
        return (
            f"the last node is lost with {' and '.join(clients)}, its pods are deleted, and it "
            f"{end}{self.repetition}"
        )


class RebootNode(NodeFault):
    """The last node is rebooted.

    Its kubelet and its driver are killed, its containers end, and its CDI folder is empty, as
    `/var/run` is in memory. The checkpoints of both stay. The next kubelet process finds another
    boot id, and starts the containers of the pods that are left again, for which it has their
    claims prepared again.
    """

    kind: Literal["reboot-node"]
    down_s: Seconds = 1.0
    """Seconds until its kubelet and its driver run again."""

    once = "down_s"
    says = "the last node is rebooted: {process} runs again {down_s:g} s later{repetition}"
    effect = fault.Effect.REBOOT

    def objections(self, run: fault.Run) -> Iterator[str]:
        yield from super().objections(run)
        if not run.reboots_driver:
            yield (
                "expected a driver that ends with its node, got one of several nodes, or of others: "
                "name {node} in the command of subject.driver, or set it to 'socket'"
            )


KINDS = (LoseNode, RebootNode)
