"""How a driver misbehaves on demand: its calls are delayed, blocked, and fail."""

import random
from collections.abc import Callable

from harness import concurrency
from harness.cluster.kubelet_api import preparations
from harness.scenario import driver_specs


class Misbehaviour:
    """Delays, blocks and fails the calls of one kind. Thread-safe."""

    def __init__(
        self,
        spec: driver_specs.CallSpec,
        stream: random.Random,
        wait: Callable[[float], bool],
    ) -> None:
        """`wait` waits for these seconds, or until the driver stops."""
        self.spec = spec
        """May be replaced at any time."""
        self._stream, self._wait = stream, wait
        self._guard = concurrency.lock("driver.failures")
        self._started_s = concurrency.monotonic_s()

    def wait(self) -> None:
        """Wait as long as the settings say."""
        left_s = self.spec.delay_s + self._blocked_s()
        if left_s > 0:
            self._wait(left_s)

    def fail(self) -> None:
        """Raise PreparationError as often as the settings say."""
        if self.spec.failing_from_s is not None and self._is_failing(self.spec.failing_from_s):
            raise preparations.PreparationError("FailedForATime", "the driver fails for a time")
        if not self.spec.failure_probability:
            return
        with self._guard:
            fails = self._stream.random() < self.spec.failure_probability
        if fails:
            raise preparations.PreparationError("FailedOnDemand", "the driver fails on demand")

    def _blocked_s(self) -> float:
        """Return the seconds until a call that comes now is let through, 0 for none."""
        start_s, now_s = self.spec.blocked_from_s, self._since_start_s()
        if start_s is None or now_s < start_s:
            return 0.0
        return max(0.0, start_s + self.spec.blocked_s - now_s)

    def _is_failing(self, start_s: float) -> bool:
        return 0.0 <= self._since_start_s() - start_s < self.spec.failing_s

    def _since_start_s(self) -> float:
        return concurrency.monotonic_s() - self._started_s
