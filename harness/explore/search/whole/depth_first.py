"""The depth-first search of the tree of all runs: each run asks what else is to be tried."""

import dataclasses
from collections.abc import Callable, Iterator
from typing import TypeVar

from harness.explore.runtime import choices, observing
from harness.explore.search.whole import covering, search_tree, turns

R = TypeVar("R")
Make = Callable[[choices.Strategy, observing.Observer], R]
"""Makes one run with a strategy, which an observer sees."""
IsCut = Callable[[R], bool]
"""Returns whether a run ended early, although its tasks could have gone on."""


@dataclasses.dataclass(slots=True)
class Tree:
    """The tree of all runs, as far as it was searched."""

    path: list[search_tree.Node] = dataclasses.field(default_factory=list)
    """The places of the next run, as far as it is decided."""
    first_new: int = 0
    """Number of the first turn of the next run that no earlier run had."""
    is_over: bool = False
    """True if every run was made."""

    def left(self) -> float:
        """Return which share of the tree is left, if all options were alike."""
        if self.is_over:
            return 0.0
        left, mass = 0.0, 1.0
        for node in self.path:
            mass /= node.width
            left += mass * node.left
        return left + mass


def runs(tree: Tree, make: Make[R], is_cut: IsCut[R]) -> Iterator[R]:
    """Make every run of the tree; before each result the tree is what is left after it."""
    while not tree.is_over:
        follower = covering.Covering(tree.path)
        run = make(follower, follower)
        _learn(tree, follower, was_cut=is_cut(run))
        _advance(tree)
        yield run


def _learn(tree: Tree, run: covering.Covering, *, was_cut: bool) -> None:
    """Have the other order of every race tried, and everything where the run was cut."""
    nodes = [node for node in tree.path if isinstance(node, search_tree.TurnNode)]
    for node, turn in zip(nodes, run.turns, strict=True):
        node.note(turn.uses)
    for race in turns.races(run.turns, run.refused, tree.first_new):
        nodes[race.first].add(race)
    _add_early(nodes, tree.first_new, run)
    if was_cut:
        for node in nodes:
            node.add_all()


def _add_early(nodes: list[search_tree.TurnNode], first_new: int, run: covering.Covering) -> None:
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


def _last_turn(path: list[search_tree.Node]) -> int:
    """Return the number of the turn to which the last place of the path belongs."""
    return max(sum(isinstance(node, search_tree.TurnNode) for node in path) - 1, 0)
