"""A mutant: the fix of root cause A of kubernetes#136269 without the wait."""

from harness import concurrency
from harness.subject.tracking import assume_caches


class EarlyReturnAssumeCache(assume_caches.AssumeCache):
    """Emitting is exclusive, but a caller that meets another emitter returns instead of waiting.

    The other emitter will deliver the event, but `assume` guarantees that it has been delivered
    when it returns. This is the part of the fix of kubernetes#136269 that keeps the order of
    events, without the part that waits.
    """

    def _begin_emitting(self) -> bool:
        with concurrency.in_parts(self._changed):
            if self._emitting.is_taken:
                return False
            self._emitting.take()
        return True
