"""The frontier of a whole search: what is searched next, and by which process."""

import concurrent.futures
from collections.abc import Callable, Iterator
from typing import TypeVar

from harness.explore.search import worker_processes
from harness.explore.search.whole import branches, divided_search

R = TypeVar("R")
BRANCHES_PER_JOB = 2
"""Number of branches for each process, so that one is ready when another is over."""
Work = Callable[[branches.Branch], tuple[branches.Branch, list[R]]]
"""Makes some runs of a branch; returns what is left of it, and the results."""


class Frontier:
    """Branches that wait, those that processes are working on, and the places above them."""

    def __init__(self, rest: divided_search.DividedSearch) -> None:
        """Begin with what is left of a search."""
        self._rest = rest
        self._working: dict[object, branches.Branch] = {}

    @property
    def remaining(self) -> divided_search.DividedSearch:
        """All that is left, with every branch as it was when its last results came."""
        rest = self._rest
        known = [*rest.waiting, *self._working.values()]
        left = [branch for branch in known if not branch.is_over]
        return divided_search.DividedSearch(left, rest.shared, rest.unused)

    def search(self, make: branches.Make[R], is_cut: branches.IsCut[R]) -> Iterator[R]:
        """Make every run that is left, in this process."""
        waiting = self._rest.waiting
        while self.have(1):
            for run in branches.runs(waiting[-1], make, is_cut):
                self._rest.learn(waiting[-1])
                yield run
            waiting.pop()

    def search_in(self, pool: worker_processes.Pool, jobs: int, work: Work[R]) -> Iterator[list[R]]:
        """Make every run that is left, in the processes of a pool."""
        calls: set[concurrent.futures.Future[tuple[branches.Branch, list[R]]]] = set()
        waiting = self._rest.waiting
        while self.have(jobs * BRANCHES_PER_JOB - len(calls)) or calls:
            while waiting and len(calls) < jobs:
                branch = waiting.pop(0)
                call = pool.submit(work, branch)
                calls.add(call)
                self._working[call] = branch
            first = concurrent.futures.FIRST_COMPLETED
            for call in concurrent.futures.wait(calls, return_when=first).done:
                branch, results = call.result()
                calls.remove(call)
                del self._working[call]
                self._rest.learn(branch)
                if not branch.is_over:
                    waiting.append(branch)
                yield results

    def have(self, wanted: int) -> bool:
        """Have as many branches waiting as wanted, if there is enough; return False for none."""
        waiting = self._rest.waiting
        while len(waiting) < wanted:
            branch = self._rest.new_branch()
            if branch is not None:
                waiting.append(branch)
            elif not any(self._rest.divide(branch) for branch in waiting):
                break
        return bool(waiting)
