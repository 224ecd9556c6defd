"""The depth-first search of the tree of all runs: each run asks what else is to be tried.

A run follows a path through the tree, and goes on beyond it where no earlier run has been.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from harness import concurrency
from harness.explore.runtime import choices, observing, tasks
from harness.explore.search.whole import turns

R = TypeVar("R")
Make = Callable[[choices.Strategy, observing.Observer], R]
"""Makes one run with a strategy, which an observer sees."""
IsCut = Callable[[R], bool]
"""Returns whether a run ended early, although its tasks could have gone on."""


_EXPIRY = dict.fromkeys((observing.NOW, observing.TIMERS), concurrency.Use.WRITE)
"""The uses of a timer that expires."""


class Covering(observing.Observer):
    """The strategy and the observer of one run."""

    def __init__(self, path: list[turns.Node]) -> None:
        """Create strategy and observer of one run; `path` is continued in place."""
        self._path, self._place = path, 0
        self.turns: list[turns.Turn] = []
        self.refused: list[tuple[int, turns.Turn]] = []
        """Turns that could not be taken, each with the number of turns before it."""
        self.rests_before: set[int] = set()
        """Numbers of the turns before which no task could run."""
        self._node: turns.TurnNode | None = None
        self._announced: turns.TurnNode | None = None
        self._enabled_by: dict[int, int] = {}
        self._rested = 0
        self._expiring: tasks.Task | None = None
        """The task whose timer has let time pass, until the next turn."""
        self.expiries: dict[int, turns.Key] = {}
        """Maps turns after a rest to the timer that ended it, which might have expired earlier."""

    # ------------------------------------------------------------------ choices.Strategy

    def choose(self, choice: choices.Choice) -> int:
        """Return the next decision, or GIVE_UP where everything was tried before."""
        if not choice.tasks:
            return self._next_value(choice.options)
        self._announced = self._next_node(choice.tasks, choice.timers)
        return choices.GIVE_UP if self._announced is None else self._announced.decision or 0

    def _next_value(self, options: int) -> int:
        if self._place == len(self._path):
            self._path.append(turns.ValueNode(options))
        node = self._path[self._place]
        if not isinstance(node, turns.ValueNode):
            raise _changed()
        self._place += 1
        return node.decision

    def _next_node(self, among: Sequence[tasks.Task], timers: int) -> turns.TurnNode | None:
        if self._place == len(self._path) and not self._add_node(among, timers):
            self._note_refused(among)
            return None
        node = self._path[self._place]
        if not isinstance(node, turns.TurnNode) or len(among) <= (node.decision or 0):
            raise _changed()
        self._place += 1
        return node

    def _add_node(self, among: Sequence[tasks.Task], timers: int) -> bool:
        """Continue the path; return False if nothing there can show anything new."""
        options = possible(among, timers)
        asleep = self._node.asleep_after(self.turns[-1].uses) if self._node else []
        known = {key for key, _ in asleep}
        awake = [key for key in options if key not in known]
        if awake:
            is_choice = len(among) > 1
            node = turns.TurnNode([*options.items()], asleep, is_choice, awake[0], [])
            self._path.append(node)
        return bool(awake)

    # ----------------------------------------------------------------- observing.Observer

    def turn(self, options: Sequence[tasks.Task], timers: int, chosen: int) -> bool:
        """Begin a turn; return False where everything was tried before."""
        node, self._announced = self._announced, None
        if node is None:
            node = self._next_node(options, timers)
        if node is not None:
            self._node = node
            self._begin(options[chosen], node.chosen)
        return node is not None

    def _begin(self, task: tasks.Task, key: turns.Key) -> None:
        """Begin a turn; the first one after a rest is like one whose timer expires early."""
        expiring, self._expiring = self._expiring, None
        turn = self._begun(task, key)
        if expiring is task and not turn.is_vain:
            turn.key = self.expiries[len(self.turns)] = (task.number, True)
            turn.uses.update(_EXPIRY)
        elif expiring is not None:
            self._rest([expiring])
            turn = self._begun(task, key)
        self.turns.append(turn)

    def _begun(self, task: tasks.Task, key: turns.Key) -> turns.Turn:
        obstacle = None if key[1] else task.obstacle
        return turns.Turn(
            key=key,
            held=frozenset(lock.identity for lock in task.held),
            obstacle=obstacle.identity if obstacle else None,
            is_vain=obstacle is not None and obstacle.is_blocking,
            enabled_by=self._enabled_by.get(task.number, 0) | self._rested,
        )

    def uses(self, identity: int, how: concurrency.Use) -> None:
        if self.turns:
            turns.note(self.turns[-1].uses, identity, how)

    def enables(self, task: tasks.Task) -> None:
        if self.turns and task is not self._expiring:
            bit = 1 << (len(self.turns) - 1)
            self._enabled_by[task.number] = self._enabled_by.get(task.number, 0) | bit

    def releases(self, identity: int) -> None:
        if self.turns:
            self.turns[-1].releases.add(identity)

    def position(self) -> int:
        return len(self.turns) - 1

    def follows(self, position: int) -> None:
        if position >= 0 and self.turns:
            self.turns[-1].enabled_by |= 1 << position

    def rests(self, among: Sequence[tasks.Task], early: Sequence[tasks.Task]) -> None:
        """Note that every later turn comes after all so far, and what might have come earlier."""
        self._note_refused(among)
        self.rests_before.add(len(self.turns))
        self._expiring = early[0] if len(early) == 1 else None
        if self._expiring is None:
            self._rest(early)

    def _rest(self, early: Sequence[tasks.Task]) -> None:
        """Note that every later turn comes after all so far."""
        for task in early:
            self._add_refused(task, (task.number, True), observing.EVERYTHING)
        self._rested = (1 << len(self.turns)) - 1

    def _note_refused(self, among: Sequence[tasks.Task]) -> None:
        """Note the turns that tasks would take now, had another task not taken a lock before."""
        for task in among:
            if not (task.done or task.can_go_on) and task.obstacle is not None:
                self._add_refused(task, (task.number, False), task.obstacle.identity)

    def _add_refused(self, task: tasks.Task, key: turns.Key, used: int) -> None:
        turn = self._begun(task, key)
        turn.uses[used] = concurrency.Use.WRITE
        self.refused.append((len(self.turns), turn))


def possible(among: Sequence[tasks.Task], timers: int) -> dict[turns.Key, int]:
    """Return what can happen next, with the decision for it; timers that expire early last.

    Tasks that would have to wait at once are left out, unless no other can do anything.
    """
    first_timer = len(among) - timers
    ready = [index for index in range(first_timer) if among[index].can_go_on]
    going = {(among[index].number, False): index for index in ready or range(first_timer)[:1]}
    early = {(among[index].number, True): index for index in range(first_timer, len(among))}
    return {**going, **early}


def _changed() -> RuntimeError:
    return RuntimeError("expected the same choices as in an earlier run that began alike")


@dataclasses.dataclass(slots=True)
class Tree:
    """The tree of all runs, as far as it was searched."""

    path: list[turns.Node] = dataclasses.field(default_factory=list)
    """The places of the next run, as far as it is decided."""
    first_new: int = 0
    """Number of the first turn of the next run that no earlier run had."""
    is_over: bool = False
    """True if every run was made."""


def runs(tree: Tree, make: Make[R], is_cut: IsCut[R]) -> Iterator[R]:
    """Make every run of the tree; before each result the tree is what is left after it."""
    while not tree.is_over:
        follower = Covering(tree.path)
        run = make(follower, follower)
        _learn(tree, follower, was_cut=is_cut(run))
        _advance(tree)
        yield run


def _learn(tree: Tree, run: Covering, *, was_cut: bool) -> None:
    """Have the other order of every race tried, and everything where the run was cut."""
    nodes = [node for node in tree.path if isinstance(node, turns.TurnNode)]
    for node, turn in zip(nodes, run.turns, strict=True):
        node.note(turn.uses)
    for race in turns.races(run.turns, run.refused, tree.first_new):
        nodes[race.first].add(race)
    _add_early(nodes, tree.first_new, run)
    if was_cut:
        for node in nodes:
            node.add_all()


def _add_early(nodes: list[turns.TurnNode], first_new: int, run: Covering) -> None:
    """Have every timer that may expire early tried where it may for the last time before a rest."""
    later: list[turns.Key] = []
    for number in reversed(range(first_new, len(nodes))):
        node, now = nodes[number], nodes[number].early_keys()
        expired = run.expiries.get(number + 1)
        is_last = number + 1 in run.rests_before
        for key in now:
            if key not in (node.chosen, expired) and (is_last or key not in later):
                node.add(turns.Race(number, [key], key))
        later = now


def _advance(tree: Tree) -> None:
    path = tree.path
    while path and not path[-1].go_on():
        path.pop()
    tree.is_over = not path
    tree.first_new = _last_turn(path)


def _last_turn(path: list[turns.Node]) -> int:
    """Return the number of the turn to which the last place of the path belongs."""
    return max(sum(isinstance(node, turns.TurnNode) for node in path) - 1, 0)
