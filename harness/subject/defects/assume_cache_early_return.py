"""Root cause A again, through the tempting half of its fix."""

from harness.subject import assume_caches


class EarlyReturnAssumeCache(assume_caches.AssumeCache):
    """Emitting is exclusive, but a caller that meets another emitter returns at once instead of waiting for it.

    The other one will deliver the event, yet `assume` has promised more: that it was delivered when it returns. The half of the
    fix of kubernetes#136269 that keeps order and drops the wait.
    """

    def _begin_emitting(self) -> bool:
        with self._changed:
            if self._emitting:
                return False
            self._emitting = True
        return True
