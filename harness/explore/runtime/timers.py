"""Virtual time: it stands still while any task can run, and then jumps to the next timer.

A few timers a run may go off before that, for a real thread can be slower than any timer.
"""

from harness.explore.runtime import tasks

EARLY_MAX = 2
"""So many timers of a run may go off although somebody could run; without a bound, retrying for ever would be a finding."""


class Timers:
    """The tasks that wait no longer than to a certain time."""

    def __init__(self, *, time_max_ns: int) -> None:
        """Timers later than `time_max_ns` never go off."""
        self._time_max_ns = time_max_ns
        self._waiting: dict[tasks.Task, None] = {}
        self.now_ns = 0
        self.early_left = EARLY_MAX
        """So many may still go off early."""

    def set(self, task: tasks.Task, seconds: float) -> None:
        """Have the task wait no longer than so long."""
        # At least a nanosecond, or time would stand still.
        task.deadline_ns = self.now_ns + max(round(seconds * 1e9), 1)
        self._waiting[task] = None

    def cancel(self, task: tasks.Task) -> None:
        """The task waits no more."""
        self._waiting.pop(task, None)
        task.deadline_ns = None

    def next_ns(self) -> int | None:
        """When the next timer goes off; None when none does."""
        first = min((task.deadline_ns or 0 for task in self._waiting), default=None)
        return None if first is None or first > self._time_max_ns else first

    def early(self) -> list[tasks.Task]:
        """The tasks whose timer could go off early: the next ones, all alike."""
        if not self._waiting or not self.early_left:
            return []
        first = self.next_ns()
        return [task for task in self._waiting if task.deadline_ns == first]

    def pass_to(self, now_ns: int) -> list[tasks.Task]:
        """Let time pass; the tasks whose timers go off by that, all together."""
        self.now_ns = max(self.now_ns, now_ns)
        return [task for task in self._waiting if (task.deadline_ns or 0) <= self.now_ns]
