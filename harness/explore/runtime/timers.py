"""Virtual time: it stands still while any task can run, then jumps to the next timer.

A few timers in each run may expire earlier, because a real thread can be slower than any timer.
"""

from harness.explore.runtime import tasks

EARLY_MAX = 2
"""Maximum number of timers in a run that expire while another task can run.

Without a limit, endless retrying would be a finding.
"""


class Timers:
    """Tasks that wait with a timeout."""

    def __init__(self, *, time_max_ns: int) -> None:
        """Create a clock at 0. Timers later than `time_max_ns` never expire."""
        self._time_max_ns = time_max_ns
        self._waiting: dict[tasks.Task, None] = {}
        self.now_ns = 0
        self.early_left = EARLY_MAX
        """Number of timers that may still expire early."""

    def set(self, task: tasks.Task, seconds: float) -> None:
        """Set the task's timer to expire after this time."""
        # At least one nanosecond, or time would not advance.
        task.deadline_ns = self.now_ns + max(round(seconds * 1e9), 1)
        self._waiting[task] = None

    def cancel(self, task: tasks.Task) -> None:
        """Cancel the task's timer."""
        self._waiting.pop(task, None)
        task.deadline_ns = None

    def next_ns(self) -> int | None:
        """Return when the next timer expires; None if none will."""
        first = min((task.deadline_ns or 0 for task in self._waiting), default=None)
        return None if first is None or first > self._time_max_ns else first

    def early(self) -> list[tasks.Task]:
        """Return the tasks whose timer may expire early: those of the next deadline."""
        if not self._waiting or not self.early_left:
            return []
        first = self.next_ns()
        return [task for task in self._waiting if task.deadline_ns == first]

    def pass_to(self, now_ns: int) -> list[tasks.Task]:
        """Advance time; return the tasks whose timers expire."""
        self.now_ns = max(self.now_ns, now_ns)
        return [task for task in self._waiting if (task.deadline_ns or 0) <= self.now_ns]
