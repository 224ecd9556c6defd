"""The path of a search through the tree of all runs: what was chosen, and what is still to do."""

import msgspec

from harness.explore.search.whole import turns


class TurnNode(msgspec.Struct, tag="turn"):
    """A place where the next turn is chosen."""

    options: list[tuple[turns.Key, int]]
    """The turns that can come next, each with the decision for it."""
    asleep: list[tuple[turns.Key, turns.Uses]]
    """The options that were tried before, so that they need not be tried here, and their uses.

    Nothing since then depends on them.
    """
    is_choice: bool
    """False if there is only one option, so that no decision is recorded."""
    chosen: turns.Key
    to_do: list[turns.Key]
    """The options that are still to be tried here."""
    done: list[tuple[turns.Key, turns.Uses]] = []
    """The options that were tried here, or are by another branch, and all that they use."""
    given: list[turns.Key] = []
    """The options that other branches try; not yet known is what they use."""
    used: turns.Uses = {}
    """All that the chosen turn used, in any of its runs."""
    shared: int | None = None
    """Number of the frontier's node that this copies; None: the node of one branch."""
    asked: list[turns.Race] = []
    """Races whose other order the frontier's node is to have tried."""
    asks_all: bool = False
    """True if the frontier's node is to have everything tried."""

    @property
    def decision(self) -> int | None:
        """The decision; None if there was none to make."""
        return dict(self.options)[self.chosen] if self.is_choice else None

    @property
    def width(self) -> int:
        """The number of options that are tried here, by all branches, as far as is known."""
        return 1 + len(self.to_do) + len(self.done) + len(self.given)

    @property
    def left(self) -> int:
        """The number of options that are still to be tried here."""
        return len(self.to_do)

    def note(self, used: turns.Uses) -> None:
        """Add what the chosen turn has used."""
        for identity, how in used.items():
            turns.note(self.used, identity, how)

    def add(self, race: turns.Race) -> None:
        """Have one of the race's initials tried here, unless one is, or was, anyway."""
        if not self._known().isdisjoint(race.initials):
            return
        if self.shared is None:
            possible = [key for key, _ in self.options]
            chosen = [key for key in (race.preferred, *possible) if key in race.initials]
            self.to_do += [key for key in chosen if key in possible][:1] or self._unknown()
        elif race not in self.asked:
            self.asked.append(race)

    def early_keys(self) -> list[turns.Key]:
        """Return the timers that may expire early here."""
        return [key for key, _ in self.options if key[1]]

    def add_all(self) -> None:
        """Have everything tried here that can happen."""
        if self.shared is None:
            self.to_do += self._unknown()
        else:
            self.asks_all = True

    def _known(self) -> set[turns.Key]:
        tried = [key for key, _ in (*self.done, *self.asleep)]
        return {self.chosen, *self.to_do, *self.given, *tried}

    def _unknown(self) -> list[turns.Key]:
        known = self._known()
        return [key for key, _ in self.options if key not in known]

    def go_on(self) -> bool:
        """Choose what is to be tried next; return False if nothing is left."""
        self.done.append((self.chosen, self.used))
        if not self.to_do:
            return False
        self.chosen, self.used = self.to_do.pop(0), {}
        return True

    def asleep_after(self, used: turns.Uses) -> list[tuple[turns.Key, turns.Uses]]:
        """Return what need not be tried after the chosen turn, which used this."""
        return [
            (key, uses)
            for key, uses in (*self.asleep, *self.done)
            if key[0] != self.chosen[0] and turns.are_independent(uses, used)
        ]

    def share(self, number: int) -> "TurnNode":
        """Make this a node of the frontier; return a copy for the branch that had it."""
        self.given.append(self.chosen)
        return msgspec.structs.replace(self._copy(number, self.chosen), used=dict(self.used))

    def give(self, number: int) -> "TurnNode":
        """Return a copy for another branch, which tries the first option of the rest."""
        self.given.append(self.to_do.pop(0))
        return self._copy(number, self.given[-1])

    def again(self) -> "TurnNode":
        """Return a copy of a copy, for another branch with the same option."""
        return msgspec.structs.replace(self, used={}, given=[*self.given], asked=[], asks_all=False)

    def _copy(self, number: int, chosen: turns.Key) -> "TurnNode":
        return TurnNode(
            options=self.options,
            asleep=[*self.asleep, *self.done],
            is_choice=self.is_choice,
            chosen=chosen,
            to_do=[],
            given=sorted(self._known()),
            shared=number,
        )

    def learn(self, copy: "TurnNode", *, is_known: bool) -> None:
        """Take over what a branch has asked of its copy.

        `is_known`: whether the branch knows all that the chosen turn uses.
        """
        for race in copy.asked:
            self.add(race)
        if copy.asks_all:
            self.add_all()
        if is_known and copy.chosen in self.given:
            self.given.remove(copy.chosen)
            self.done.append((copy.chosen, dict(copy.used)))
        copy.asked, copy.asks_all, copy.given = [], False, sorted(self._known())


class ValueNode(msgspec.Struct, tag="value"):
    """A choice of another kind, such as of a fault: every option is tried."""

    options: int
    decision: int = 0
    shared: int | None = None
    """Number of the frontier's node that this copies; None: the node of one branch."""

    @property
    def width(self) -> int:
        """The number of options."""
        return self.options

    @property
    def left(self) -> int:
        """The number of options that are still to be tried here."""
        return self.options - 1 - self.decision

    def go_on(self) -> bool:
        """Choose the next option; return False if nothing is left."""
        if not self.left:
            return False
        self.decision += 1
        return True

    def share(self, number: int) -> "ValueNode":
        """Make this a node of the frontier; return a copy for the branch that had it."""
        return ValueNode(self.options, self.decision, number)

    def give(self, number: int) -> "ValueNode":
        """Return a copy for another branch, which tries the next option."""
        self.decision += 1
        return ValueNode(self.options, self.decision, number)

    def again(self) -> "ValueNode":
        """Return a copy of a copy, for another branch with the same option."""
        return msgspec.structs.replace(self)


Node = TurnNode | ValueNode
