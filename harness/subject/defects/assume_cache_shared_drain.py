"""Root cause A of the upstream double allocations, as the code was."""

from harness.subject import assume_caches


class SharedDrainAssumeCache(assume_caches.AssumeCache):
    """Several callers drain the event queue at once: one finds it empty while another has popped, but not yet run, the event.

    Then `assume` returns before its effects can be seen, the claim leaves the in-flight claims, and for a moment its device is
    neither in flight nor allocated. kube-scheduler 1.32 to 1.35.0; fixed in 1.36 and patch releases by emitting exclusively
    (kubernetes#136269, "fix one root cause of double device allocation").
    """

    def _emit(self) -> None:
        while True:
            with self._changed:
                if not self._events:
                    return
                event = self._events.popleft()
            event.deliver()
