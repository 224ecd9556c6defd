"""The frontier of a whole search: the branches that are not searched yet, for all processes."""

import concurrent.futures
from collections.abc import Callable, Iterator
from typing import TypeVar

from harness.explore.search import worker_processes
from harness.explore.search.whole import branches

R = TypeVar("R")
BRANCHES_PER_JOB = 2
"""Number of branches for each process, so that one is at hand when another is over."""
Work = Callable[[branches.Branch], tuple[branches.Branch, list[R]]]
"""Makes some runs of a branch; returns what is left of it, and the results."""


class Frontier:
    """Branches that wait, and those that processes are working on."""

    def __init__(self, waiting: list[branches.Branch] | None = None) -> None:
        """Begin with the whole tree, or with these branches."""
        self.waiting = [branches.Branch()] if waiting is None else waiting
        self._working: dict[object, branches.Branch] = {}

    @property
    def remaining(self) -> list[branches.Branch]:
        """Every branch as it was when its last results came."""
        return [*self.waiting, *self._working.values()]

    @property
    def is_new(self) -> bool:
        """True if no run was made."""
        return not any(branch.path or branch.is_over for branch in self.remaining)

    def left(self) -> float:
        """Return which share of the search is left, if all options were alike; 0 at the end."""
        return min(sum(branch.left() for branch in self.remaining), 1.0)

    def search(self, make: branches.Make[R], is_cut: branches.IsCut[R]) -> Iterator[R]:
        """Make every run that is left, in this process."""
        while self.waiting:
            yield from branches.runs(self.waiting[-1], make, is_cut)
            self.waiting.pop()

    def search_in(self, pool: worker_processes.Pool, jobs: int, work: Work[R]) -> Iterator[list[R]]:
        """Make every run that is left, in the processes of a pool."""
        calls: set[concurrent.futures.Future[tuple[branches.Branch, list[R]]]] = set()
        while self.waiting or calls:
            self._spread(jobs)
            while self.waiting and len(calls) < jobs:
                branch = self.waiting.pop(0)
                call = pool.submit(work, branch)
                calls.add(call)
                self._working[call] = branch
            first = concurrent.futures.FIRST_COMPLETED
            for call in concurrent.futures.wait(calls, return_when=first).done:
                branch, results = call.result()
                calls.remove(call)
                del self._working[call]
                if not branch.is_over:
                    self.waiting.append(branch)
                yield results

    def _spread(self, jobs: int) -> None:
        """Divide the branches that wait until there are enough for all processes."""
        wanted = jobs * BRANCHES_PER_JOB - len(self._working)
        for branch in list(self.waiting):
            while 0 < len(self.waiting) < wanted and (given := branch.give()) is not None:
                self.waiting.append(given)
