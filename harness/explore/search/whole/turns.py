"""The turns of one run, which of them happened before which, their races, and what is still to do.

The path of a search through the tree of all runs consists of nodes: places of choices.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import msgspec

from harness import concurrency
from harness.explore.runtime import observing

Uses = dict[int, concurrency.Use]
"""Maps what a turn uses to how it does."""
Key = tuple[int, bool]
"""A task that goes on next, or (True) whose timer expires early."""


@dataclasses.dataclass(slots=True)
class Turn:
    """All that a task did from one place where it may be replaced to the next one."""

    key: Key
    held: frozenset[int]
    """The locks that the task held at the beginning."""
    obstacle: int | None
    """The object that the task took as soon as it ran: a lock, or a queue with an item."""
    is_vain: bool
    """True if the task only found that it has to wait; then the turn could as well be left out."""
    enabled_by: int
    """Bit set of the earlier turns without which the task could not have gone on."""
    uses: Uses = dataclasses.field(default_factory=dict)
    """Maps what the turn uses to how it does."""
    releases: set[int] = dataclasses.field(default_factory=set)
    """The locks that the turn releases."""
    before: int = 0
    """Bit set of the turns that happened before this one, with this one."""


@dataclasses.dataclass(frozen=True, slots=True)
class Race:
    """Two turns of different tasks that conflict, and could have come in the other order."""

    first: int
    """Number of the turn that came first."""
    initials: Sequence[Key]
    """Turns that could come instead of it to have the other order; one of them is enough."""
    preferred: Key
    """The second turn."""


def are_independent(one: Uses, other: Uses) -> bool:
    if len(other) < len(one):
        one, other = other, one
    return all(key not in other or _commute(how, other[key]) for key, how in one.items())


def note(uses: Uses, identity: int, how: concurrency.Use) -> None:
    """Add a use to those of a turn; two that do not commute are a WRITE."""
    uses[identity] = how if uses.get(identity, how) == how else concurrency.Use.WRITE


def _commute(one: concurrency.Use, other: concurrency.Use) -> bool:
    return one == other != concurrency.Use.WRITE


def races(
    turns: Sequence[Turn], refused: Sequence[tuple[int, Turn]], first_new: int
) -> Iterator[Race]:
    """Set what happened before each turn, and yield the races of turns from `first_new` on.

    `refused`: turns that could not be taken when no task could run, because the lock was held, each
    with the number of turns so far. They race as if they had been taken.
    """
    history = _History(turns)
    left = list(refused)
    for number, turn in enumerate(turns):
        while left and left[0][0] == number:
            yield from history.races(left.pop(0)[1], number, first_new)
        yield from history.races(turn, number, first_new)
        history.add(turn, number)
    for number, turn in left:
        yield from history.races(turn, number, first_new)


class _History:
    """The turns so far, by what they used."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns, self._count = turns, 0
        self._users: dict[int, list[int]] = {}
        self._last_of_task: dict[int, int] = {}
        self._released: dict[int, int] = {}

    def add(self, turn: Turn, number: int) -> None:
        self._count = number + 1
        self._last_of_task[turn.key[0]] = number
        for used in turn.uses:
            self._users.setdefault(used, []).append(number)
        for lock in turn.releases & turn.held:
            self._released[lock] = number

    def races(self, turn: Turn, number: int, first_new: int) -> list[Race]:
        """Set what happened before a turn; return its races if it is new."""
        rivals = self._order(turn, number)
        if number < first_new:
            return []
        return [self._race(rival, turn, number) for rival in rivals]

    def _order(self, turn: Turn, number: int) -> list[int]:
        """Set what happened before a turn; return the earlier turns that it races with."""
        past, fixed, rivals = self._past(turn), 0, []
        for earlier in self._conflicting(turn):
            if past >> earlier & 1:
                continue
            if turn.obstacle in self._turns[earlier].held:
                fixed |= self._turns[earlier].before
            else:
                rivals.append(earlier)
                past |= self._turns[earlier].before
        for used in turn.uses:
            if used in self._released:
                fixed |= self._turns[self._released[used]].before
        turn.before = past | fixed | 1 << number
        return rivals

    def _past(self, turn: Turn) -> int:
        """Return the turns without which this one could not have been taken, as a bit set."""
        past = 0
        if turn.key[0] in self._last_of_task:
            past = self._turns[self._last_of_task[turn.key[0]]].before
        left = turn.enabled_by & ~past
        while left:  # after a rest these are all, most of which happened before the latest
            latest = left.bit_length() - 1
            past |= self._turns[latest].before
            left &= ~(past | 1 << latest)
        return past

    def _conflicting(self, turn: Turn) -> list[int]:
        """Return the earlier turns that use the same, if one of both writes it; latest first."""
        if observing.EVERYTHING in turn.uses:
            return list(reversed(range(self._count)))
        found = {
            earlier
            for used, how in turn.uses.items()
            for earlier in self._users.get(used, ())
            if not _commute(how, self._turns[earlier].uses[used])
        }
        return sorted(found, reverse=True)

    def _race(self, first: int, turn: Turn, second: int) -> Race:
        """Return a race, with what can come first if the second turn is to."""
        between = range(first + 1, second)
        later = [(n, self._turns[n]) for n in between if not self._turns[n].is_vain]
        after = [(n, turn) for n, turn in later if not turn.before >> first & 1]
        members = sum(1 << n for n, _ in after) | 1 << second
        among = (*after, (second, turn))
        initials = [it.key for n, it in among if it.before & members == 1 << n]
        return Race(first, initials, turn.key)


class TurnNode(msgspec.Struct):
    """A place where the next turn is chosen."""

    options: list[tuple[Key, int]]
    """The turns that can come next, each with the decision for it."""
    asleep: list[tuple[Key, Uses]]
    """The options that were tried before, so that they need not be tried here, and their uses.

    Nothing since then depends on them.
    """
    is_choice: bool
    """False if there is only one option, so that no decision is recorded."""
    chosen: Key
    to_do: list[Key]
    """The options that are still to be tried here."""
    done: list[tuple[Key, Uses]] = []
    """The options that were tried here, and all that they use."""
    used: Uses = {}
    """All that the chosen turn used, in any of its runs."""

    @property
    def decision(self) -> int | None:
        return dict(self.options)[self.chosen] if self.is_choice else None

    def note(self, used: Uses) -> None:
        for identity, how in used.items():
            note(self.used, identity, how)

    def add(self, race: Race) -> None:
        """Have one of the race's initials tried here, unless one is, or was, anyway."""
        if not self._known().isdisjoint(race.initials):
            return
        possible = [key for key, _ in self.options]
        chosen = [key for key in (race.preferred, *possible) if key in race.initials]
        self.to_do += [key for key in chosen if key in possible][:1] or self._unknown()

    def early_keys(self) -> list[Key]:
        return [key for key, _ in self.options if key[1]]

    def add_all(self) -> None:
        self.to_do += self._unknown()

    def _known(self) -> set[Key]:
        tried = [key for key, _ in (*self.done, *self.asleep)]
        return {self.chosen, *self.to_do, *tried}

    def _unknown(self) -> list[Key]:
        known = self._known()
        return [key for key, _ in self.options if key not in known]

    def go_on(self) -> bool:
        """Choose what is to be tried next; return False if nothing is left."""
        self.done.append((self.chosen, self.used))
        if not self.to_do:
            return False
        self.chosen, self.used = self.to_do.pop(0), {}
        return True

    def asleep_after(self, used: Uses) -> list[tuple[Key, Uses]]:
        """Return what need not be tried after the chosen turn, which used this."""
        return [
            (key, uses)
            for key, uses in (*self.asleep, *self.done)
            if key[0] != self.chosen[0] and are_independent(uses, used)
        ]


class ValueNode(msgspec.Struct):
    """A choice of another kind, such as of a fault: every option is tried."""

    options: int
    decision: int = 0

    def go_on(self) -> bool:
        """Choose the next option; return False if nothing is left."""
        self.decision += 1
        return self.decision < self.options


Node = TurnNode | ValueNode
