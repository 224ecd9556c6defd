"""Root cause B of the upstream double allocations (kubernetes#136269)."""

from harness.subject.tracking import gathering


class NotAtomicGatherer(gathering.Gatherer):
    """Allocated devices and in-flight claims are read in turn, without a check for changes.

    A claim that moves from in flight to allocated between the two reads is seen in neither. Affects
    kube-scheduler 1.32 to 1.35.0; fixed in 1.36 and in patch releases by a revision that is
    compared after both reads (kubernetes#136269, "fix another root cause of double device
    allocation").
    """

    def _is_current(self, revision: int) -> bool:
        del revision
        return True
