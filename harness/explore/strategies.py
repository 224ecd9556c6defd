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

    def choose(self, options: int, *, preempts: bool) -> int:
        """What the other one says."""
        choice = self._inner.choose(options, preempts=preempts)
        self.decisions.append(choice)
        self.options.append(options)
        self.preempts.append(preempts)
        return choice


class RandomWalk:
    """Goes on with the running task with a probability, and else with any other, all alike."""

    def __init__(self, stream: random.Random, *, stay: float) -> None:
        self._stream, self._stay = stream, stay

    def choose(self, options: int, *, preempts: bool) -> int:
        """A random number."""
        if preempts and self._stream.random() < self._stay:
            return 0
        return self._stream.randrange(options)


class Pct:
    """A few preemptions at random places, everything else as it comes (probabilistic concurrency testing).

    After Burckhardt et al., ASPLOS 2010, with preemptions instead of priorities: of a run with `length` choices, `depth - 1` are
    interfered with. A bug that needs d ordering constraints is hit with probability of at least 1/(n·k^(d-1)) for n tasks and k choices.
    """

    def __init__(self, stream: random.Random, *, depth: int, length: int) -> None:
        self._stream = stream
        self._places = {stream.randrange(max(length, 1)) for _ in range(depth - 1)}
        self._count = 0

    def choose(self, options: int, *, preempts: bool) -> int:
        """0, but at the chosen places; the order of tasks that nobody preempted is random too."""
        self._count += 1
        if not preempts:
            return self._stream.randrange(options)
        return self._stream.randrange(1, options) if self._count - 1 in self._places else 0


class Replay:
    """What a token says; 0 after its end."""

    def __init__(self, decisions: Sequence[int]) -> None:
        self._decisions = decisions
        self._count = 0
        self.diverged = False
        """Whether a decision did not fit: the token is of another scenario or version."""

    def choose(self, options: int, *, preempts: bool) -> int:
        """The next decision."""
        del preempts
        index, self._count = self._count, self._count + 1
        choice = self._decisions[index] if index < len(self._decisions) else 0
        if choice >= options:
            self.diverged = True
            return 0
        return choice
