"""Bounded exhaustive search: every interleaving with at most so many preemptions, each once.

A preemption takes the turn away from a task that could go on, or has a timer go off although somebody could run. Who goes on when a task
blocks or ends, and what faults happen (a world says how many may), is chosen freely and costs nothing (iterative
context bounding, Musuvathi and Qadeer, PLDI 2007).

Partial-order reduction, in two ways that keep the bound exactly, so that no outcome within it is lost (as sleep sets would):
- A run is given up in a state in which another run was with as many preemptions left, since whatever follows is the same. States are compared by
  their pasts (`scheduler`), so orders of steps that do not concern each other are one state (happens-before caching, the same,
  MSR-TR-2007-12). Two different states are taken for one with a probability of about n²/2⁶² for n states.
- A task whose turn was taken away goes on only after somebody changed what it was about to use: otherwise its turn could as
  well have been taken away later, at no higher cost.

Not covered: more preemptions; replacing a task anywhere but at the choice points of `scheduler`; more early timers than
`timers.EARLY_MAX`; the orders of one notify's waiters (first come, first woken).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from harness.explore.runtime import choices

STATES_MAX = 20_000_000
"""So many states are remembered (about 100 bytes each); beyond, more runs are made than needed, but none is left out."""


class Bounded:
    """Decides as written, then as if nobody interfered; gives up where another run was before."""

    def __init__(
        self, prefix: Sequence[int], preemptions_max: int, visited: dict[int, int]
    ) -> None:
        """`visited`: state -> the most preemptions that were left there, shared by all runs of a search."""
        self._prefix, self._left, self._visited = prefix, preemptions_max, visited
        self._count = 0
        self.added: list[list[int]] = []
        """For each decision after the prefix: what was chosen, and what else is to be tried there."""

    def choose(self, choice: choices.Choice) -> int:
        """The next number of the prefix, then the first option that may show something new; ENOUGH when there is none."""
        index, self._count = self._count, self._count + 1
        if index < len(self._prefix):
            chosen = self._prefix[index]
        elif self._is_known(choice.runtime.state()) or not (options := self._worthwhile(choice)):
            return choices.ENOUGH
        else:
            self.added.append(options)
            chosen = options[0]
        self._left -= chosen >= choice.free
        return chosen

    def _worthwhile(self, choice: choices.Choice) -> list[int]:
        affordable = range(choice.options if self._left else choice.free)
        if not choice.tasks:
            return list(affordable)
        redundant = choice.runtime.is_redundant
        return [option for option in affordable if not redundant(choice.tasks[option])]

    def _is_known(self, state: int) -> bool:
        left = self._visited.get(state, -1)
        if left >= self._left:
            return True
        if left >= 0 or len(self._visited) < STATES_MAX:
            self._visited[state] = self._left
        return False


R = TypeVar("R")


def runs(
    make: Callable[[choices.Strategy], R],
    *,
    preemptions_max: int,
    visited: dict[int, int] | None = None,
) -> Iterator[R]:
    """Runs that together show every interleaving within the bound, depth first; many of them are given up early.

    `make` makes one run under a strategy. `visited` is filled with the states that were seen.
    """
    visited = {} if visited is None else visited
    stack: list[list[int]] = []  # for each decision: what was chosen, and what is still to be tried
    while True:
        strategy = Bounded([left[0] for left in stack], preemptions_max, visited)
        yield make(strategy)
        stack += strategy.added
        while stack and len(stack[-1]) == 1:
            stack.pop()
        if not stack:
            return
        stack[-1].pop(0)
