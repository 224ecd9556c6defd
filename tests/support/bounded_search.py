"""Bounded exhaustive search: every interleaving with a limited number of preemptions, once each.

A preemption interrupts a task that could continue, or lets a timer expire although a task could
run. The next task after one blocks or ends, and faults (limited by the world), are chosen freely at
no cost (iterative context bounding, Musuvathi and Qadeer, PLDI 2007).

A run is abandoned in a state that another run has reached with as many preemptions left, since the
continuations are the same. States are compared by their pasts (`scheduler`), so orders of
independent steps are one state (happens-before caching, the same authors, MSR-TR-2007-12). The
probability that two different states are taken for one is about n²/2⁶² for n states. This keeps the
bound exactly, so that no outcome within it is lost; sleep sets would lose some.

Not covered: more preemptions; replacing a task anywhere but at the choice points of `scheduler`;
more early timers than `timers.EARLY_MAX`; other orders of one notify's waiters than first come,
first woken.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from harness.explore.runtime import choices

STATES_MAX = 20_000_000
"""Maximum number of remembered states, about 100 bytes each.

Beyond it the search makes more runs than necessary, but omits none.
"""


class Bounded:
    """Follows a prefix of decisions, then the undisturbed course; abandons runs in known states."""

    def __init__(
        self, prefix: Sequence[int], preemptions_max: int, visited: dict[int, int]
    ) -> None:
        """Create the strategy of one run.

        `visited`: state -> the most preemptions that were left there, shared by all runs of a
        search.
        """
        self._prefix, self._left, self._visited = prefix, preemptions_max, visited
        self._count = 0
        self.added: list[list[int]] = []
        """The options of each decision after the prefix: the chosen one, then those still to be
        tried."""

    def choose(self, choice: choices.Choice) -> int:
        """Return the next decision of the prefix, then the first option worth trying.

        GIVE_UP in a known state.
        """
        index, self._count = self._count, self._count + 1
        if index < len(self._prefix):
            chosen = self._prefix[index]
        elif self._is_known(choice.runtime.state()):
            return choices.GIVE_UP
        else:
            self.added.append(list(range(choice.options if self._left else choice.free)))
            chosen = 0
        self._left -= chosen >= choice.free
        return chosen

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
    """Yield runs that together cover every interleaving within the bound, depth first.

    Many of them are abandoned early. `make` executes one run under a strategy. `visited` is filled
    with the states that were reached.
    """
    visited = {} if visited is None else visited
    stack: list[list[int]] = []  # for each decision: the chosen option, then those to be tried
    while True:
        strategy = Bounded([left[0] for left in stack], preemptions_max, visited)
        yield make(strategy)
        stack += strategy.added
        while stack and len(stack[-1]) == 1:
            stack.pop()
        if not stack:
            return
        stack[-1].pop(0)
