"""Who goes on: strategies, and the tape on which their decisions are written."""

import random
from collections.abc import Sequence

from harness.explore import runtimes


class Tape:
    """A strategy that keeps what another one decides."""

    def __init__(self, inner: runtimes.Strategy) -> None:
        self._inner = inner
        self.decisions: list[int] = []
        self.options: list[int] = []
        self.preempts: list[bool] = []

    def choose(self, options: int, *, preempts: bool, tasks: Sequence[int] = ()) -> int:
        """What the other one says."""
        choice = self._inner.choose(options, preempts=preempts, tasks=tasks)
        self.decisions.append(choice)
        self.options.append(options)
        self.preempts.append(preempts)
        return choice


class RandomWalk:
    """Goes on with the running task with a probability, and else with any other, all alike."""

    def __init__(self, stream: random.Random, *, stay: float) -> None:
        self._stream, self._stay = stream, stay

    def choose(self, options: int, *, preempts: bool, tasks: Sequence[int] = ()) -> int:
        """A random number."""
        del tasks
        if preempts and self._stream.random() < self._stay:
            return 0
        return self._stream.randrange(options)


class Pct:
    """Random priorities, and a few places where the running task drops to the lowest one (probabilistic concurrency testing).

    After Burckhardt et al., ASPLOS 2010: a bug that needs d ordering constraints is hit with a probability of at least
    1/(n·k^(d-1)) for n tasks and k choices, of which `length` is a guess. A task of low priority waits for as long as any other can run,
    which a random walk hardly ever achieves.
    """

    def __init__(self, stream: random.Random, *, depth: int, length: int) -> None:
        self._stream = stream
        self._places = {stream.randrange(max(length, 1)) for _ in range(depth - 1)}
        self._priorities: dict[int, float] = {}
        self._count = 0

    def choose(self, options: int, *, preempts: bool, tasks: Sequence[int] = ()) -> int:
        """The option of the highest priority."""
        if not tasks:
            return self._stream.randrange(options)
        self._count += 1
        for task in tasks:
            self._priorities.setdefault(task, self._stream.random())
        if preempts and self._count in self._places:
            self._priorities[tasks[0]] = -float(self._count)
        return max(range(options), key=lambda option: self._priorities[tasks[option]])


class Replay:
    """What a token says; 0 after its end."""

    def __init__(self, decisions: Sequence[int]) -> None:
        self._decisions = decisions
        self._count = 0
        self.diverged = False
        """Whether a decision did not fit: the token is of another scenario or version."""

    def choose(self, options: int, *, preempts: bool, tasks: Sequence[int] = ()) -> int:
        """The next decision."""
        del preempts, tasks
        index, self._count = self._count, self._count + 1
        choice = self._decisions[index] if index < len(self._decisions) else 0
        if choice >= options:
            self.diverged = True
            return 0
        return choice
