"""Root cause A of the upstream double allocations (kubernetes#136269)."""

from harness import concurrency
from harness.subject.tracking import assume_caches


class SharedDrainAssumeCache(assume_caches.AssumeCache):
    """Several callers drain the event queue of the assume cache at the same time.

    One caller finds the queue empty while another has popped an event but not yet delivered it.
    Then `assume` returns before its effects are visible, the claim is removed from the in-flight
    claims, and for a moment its device is neither in flight nor allocated. Affects kube-scheduler
    1.32 to 1.35.0; fixed in 1.36 and in patch releases by exclusive emitting (kubernetes#136269,
    "fix one root cause of double device allocation").
    """

    def _emit(self) -> None:
        while True:
            with concurrency.in_parts(self._changed):
                event = self._take_event()
            if event is None:
                return
            event.deliver()
