"""Branches of the tree of all runs: each is searched by one process at a time.

A search begins with one branch. Where it is divided, the places above belong to the frontier from
then on: a branch has copies of them, in which it notes what its races ask to be tried there.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from harness.explore.runtime import choices, observing
from harness.explore.search.whole import covering, search_tree, turns

R = TypeVar("R")
Make = Callable[[choices.Strategy, observing.Observer], R]
"""Makes one run with a strategy, which an observer sees."""
IsCut = Callable[[R], bool]
"""Returns whether a run ended early, although its tasks could have gone on."""


class Branch(msgspec.Struct):
    """A part of the tree of all runs, as far as it was searched."""

    path: list[search_tree.Node] = []
    """The places of the next run, as far as it is decided."""
    share: float = 1.0
    """Which share of the whole tree it was thought to be when it was given."""
    first_new: int = 0
    """Number of the first turn of the next run that no earlier run had."""
    is_over: bool = False
    """True if every run of the branch was made."""

    @classmethod
    def after(cls, path: list[search_tree.Node], share: float) -> "Branch":
        """Return a branch below a path whose last option no run had."""
        return cls(path, share, _last_turn(path))

    def left(self) -> float:
        """Return which share of the whole tree is left, if all options were alike."""
        if self.is_over:
            return 0.0
        left, mass = 0.0, self.share
        for node in self.own:
            mass /= node.width
            left += mass * node.left
        return left + mass

    @property
    def own(self) -> list[search_tree.Node]:
        """The places that no other branch shares."""
        return [node for node in self.path if node.shared is None]


def runs(branch: Branch, make: Make[R], is_cut: IsCut[R]) -> Iterator[R]:
    """Make every run of the branch; before each result the branch is what is left after it."""
    while not branch.is_over:
        follower = covering.Covering(branch.path)
        run = make(follower, follower)
        _learn(branch, follower, was_cut=is_cut(run))
        _advance(branch)
        yield run


def _learn(branch: Branch, run: covering.Covering, *, was_cut: bool) -> None:
    """Have the other order of every race tried, and everything where the run was cut."""
    nodes = [node for node in branch.path if isinstance(node, search_tree.TurnNode)]
    for node, turn in zip(nodes, run.turns, strict=True):
        node.note(turn.uses)
    for race in turns.races(run.turns, run.refused, branch.first_new):
        nodes[race.first].add(race)
    _add_early(nodes, branch.first_new, run)
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


def _advance(branch: Branch) -> None:
    """Go to the next run."""
    path = branch.path
    while path and path[-1].shared is None and not path[-1].go_on():
        path.pop()
    branch.is_over = not path or path[-1].shared is not None
    branch.first_new = _last_turn(path)


def _last_turn(path: list[search_tree.Node]) -> int:
    """Return the number of the turn to which the last place of the path belongs."""
    return max(sum(isinstance(node, search_tree.TurnNode) for node in path) - 1, 0)
