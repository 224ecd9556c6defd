"""Hands runs to workers, without those that are not needed any more.

Of a campaign with a question, thousands of runs are planned and few are made.
"""

from collections.abc import Callable

from xdist import scheduler


class RunScheduling(scheduler.LoadScheduling):  # type: ignore[misc]
    """The order of `--dist load`."""

    def drop(self, is_needed: Callable[[str], bool]) -> None:
        """Forget the runs that no worker has yet and whose id is not needed."""
        names = self.collection or []
        self.pending[:] = [
            index for index in self.pending if is_needed(names[index].rpartition("::")[2])
        ]
