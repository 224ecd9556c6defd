"""Root cause B of the upstream double allocations."""

from harness.subject import gathering


class NotAtomicGatherer(gathering.Gatherer):
    """Allocated devices and in-flight claims are read one after the other, and nobody looks whether they changed between.

    A claim that moves from in flight to allocated between the two reads is seen in neither. kube-scheduler 1.32 to 1.35.0; fixed in
    1.36 and patch releases by a revision that is compared at the end (kubernetes#136269, "fix another root cause of double
    device allocation").
    """

    def _is_current(self, revision: int) -> bool:
        del revision
        return True
