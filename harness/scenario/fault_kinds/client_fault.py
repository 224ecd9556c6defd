"""The base of faults that act as clients of the cluster, in the way of plug-ins.

Such a kind needs nothing else: `inject` gets what a plug-in's fault gets, and runs in a process of
its own. `examples/my-plugins` has one that is a plug-in.
"""

from harness.extensions import contracts
from harness.scenario.fault_kinds import fault


class ClientFault(fault.Fault):
    """Base of faults that act as clients of the cluster."""

    duration_s: fault.Delay | None = None
    """Seconds until it has to be undone; left out: when it is done, or the load has ended."""

    def inject(self, target: contracts.FaultTarget) -> None:
        """Break something until `target.wait` returns True, or until it is done; then undo it."""
        raise NotImplementedError(self.kind, target)
