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
    """The options that were tried here, and their uses."""
    given: list[turns.Key] = []
    """The options that another branch tries."""
    used: turns.Uses = {}
    """All that the chosen turn used, in any of its runs."""
    is_fixed: bool = False
    """True if another branch tries all the rest."""

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
        """The number of options that this branch still has to try."""
        return len(self.to_do)

    def note(self, used: turns.Uses) -> None:
        """Add what the chosen turn has used."""
        for identity, how in used.items():
            turns.note(self.used, identity, how)

    def add(self, race: turns.Race) -> None:
        """Have one of the race's initials tried here, unless one is, or was, anyway."""
        known, initials = self._known(), set(race.initials)
        if self.is_fixed or not known.isdisjoint(initials):
            return
        possible = [key for key, _ in self.options]
        chosen = [key for key in (race.preferred, *possible) if key in initials]
        self.to_do += [key for key in chosen if key in possible][:1] or self._unknown()

    def add_key(self, key: turns.Key) -> None:
        """Have an option tried here, unless it is, or was, anyway."""
        if not self.is_fixed and key in self._unknown():
            self.to_do.append(key)

    def early_keys(self) -> list[turns.Key]:
        """Return the timers that may expire early here."""
        return [key for key, _ in self.options if key[1]]

    def add_all(self) -> None:
        """Have everything tried here that can happen."""
        if not self.is_fixed:
            self.to_do += self._unknown()

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

    def give(self, *, is_known: bool) -> "TurnNode":
        """Return a node for another branch that tries the first option of the rest.

        `is_known`: whether all is known that the chosen turn uses.
        """
        tried = [*self.asleep, *self.done, *([(self.chosen, self.used)] if is_known else [])]
        key = self.to_do.pop(0)
        self.given.append(key)
        return TurnNode(
            options=self.options,
            asleep=tried,
            is_choice=self.is_choice,
            chosen=key,
            to_do=[],
            is_fixed=True,
        )

    def fixed(self) -> "TurnNode":
        """Return a node that keeps the chosen option, for another branch."""
        return TurnNode(
            options=self.options,
            asleep=[*self.asleep, *self.done],
            is_choice=self.is_choice,
            chosen=self.chosen,
            to_do=[],
            is_fixed=True,
        )


class ValueNode(msgspec.Struct, tag="value"):
    """A choice of another kind, such as of a fault: every option is tried."""

    options: int
    decision: int = 0
    is_fixed: bool = False
    """True if another branch tries all the rest."""

    @property
    def width(self) -> int:
        """The number of options."""
        return self.options

    @property
    def left(self) -> int:
        """The number of options that this branch still has to try."""
        return 0 if self.is_fixed else self.options - 1 - self.decision

    def go_on(self) -> bool:
        """Choose the next option; return False if nothing is left."""
        if not self.left:
            return False
        self.decision += 1
        return True

    def fixed(self) -> "ValueNode":
        """Return a node that keeps the chosen option, for another branch."""
        return ValueNode(self.options, self.decision, is_fixed=True)


Node = TurnNode | ValueNode
