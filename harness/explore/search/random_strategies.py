"""Strategies that choose the next task at random, or replay decisions."""

import random
from collections.abc import Sequence

from harness.explore.runtime import choices

EARLY_TIMER_PROBABILITY = 0.05
"""Probability that a timer expires early, where one can."""


class RandomWalk:
    """Lets the running task continue with a given probability, else chooses uniformly.

    Timers seldom expire early.
    """

    def __init__(self, stream: random.Random, *, stay: float) -> None:
        self._stream, self._stay = stream, stay

    def choose(self, choice: choices.Choice) -> int:
        if choice.free == 1 and self._stream.random() < self._stay:
            return 0
        if choice.timers and self._stream.random() >= EARLY_TIMER_PROBABILITY:
            return self._stream.randrange(choice.options - choice.timers)
        return self._stream.randrange(choice.options)


class Pct:
    """Probabilistic concurrency testing: random priorities, lowered at a few random choices.

    After Burckhardt et al., ASPLOS 2010: a bug that needs d ordering constraints is hit with a
    probability of at least 1/(n·k^(d-1)) for n tasks and k choices; `length` is a guess of k. A
    task of low priority waits as long as any other can run, which a random walk hardly ever
    achieves. Timers occasionally expire early, whatever the priorities.
    """

    def __init__(self, stream: random.Random, *, depth: int, length: int) -> None:
        self._stream = stream
        self._places = {stream.randrange(max(length, 1)) for _ in range(depth - 1)}
        self._priorities: dict[int, float] = {}
        self._count = 0

    def choose(self, choice: choices.Choice) -> int:
        if not choice.tasks:
            return self._stream.randrange(choice.options)
        self._count += 1
        if choice.timers and self._stream.random() < EARLY_TIMER_PROBABILITY:
            return choice.options - 1
        candidates = choice.tasks[: choice.options - choice.timers]
        drawn = self._stream.random
        ranks = [self._priorities.setdefault(task.number, drawn()) for task in candidates]
        if choice.free == 1 and self._count in self._places:
            ranks[0] = self._priorities[candidates[0].number] = -float(self._count)
        return ranks.index(max(ranks))


class Replay:
    """Repeats recorded decisions, then follows the undisturbed course."""

    def __init__(self, decisions: Sequence[int]) -> None:
        self._decisions = decisions
        self._next = 0

    def choose(self, choice: choices.Choice) -> int:
        """Return the next recorded decision; 0 after the last, or if there is no such option."""
        index, self._next = self._next, self._next + 1
        decision = self._decisions[index] if index < len(self._decisions) else 0
        return decision if decision < choice.options else 0
