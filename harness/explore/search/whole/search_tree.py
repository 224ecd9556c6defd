"""The path of a search through the tree of all runs: what was chosen, and what is still to do."""

import msgspec

from harness.explore.search.whole import turns


class TurnNode(msgspec.Struct):
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
    """The options that were tried here, and all that they use."""
    used: turns.Uses = {}
    """All that the chosen turn used, in any of its runs."""

    @property
    def decision(self) -> int | None:
        return dict(self.options)[self.chosen] if self.is_choice else None

    def note(self, used: turns.Uses) -> None:
        for identity, how in used.items():
            turns.note(self.used, identity, how)

    def add(self, race: turns.Race) -> None:
        """Have one of the race's initials tried here, unless one is, or was, anyway."""
        if not self._known().isdisjoint(race.initials):
            return
        possible = [key for key, _ in self.options]
        chosen = [key for key in (race.preferred, *possible) if key in race.initials]
        self.to_do += [key for key in chosen if key in possible][:1] or self._unknown()

    def early_keys(self) -> list[turns.Key]:
        return [key for key, _ in self.options if key[1]]

    def add_all(self) -> None:
        self.to_do += self._unknown()

    def _known(self) -> set[turns.Key]:
        tried = [key for key, _ in (*self.done, *self.asleep)]
        return {self.chosen, *self.to_do, *tried}

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


class ValueNode(msgspec.Struct):
    """A choice of another kind, such as of a fault: every option is tried."""

    options: int
    decision: int = 0

    def go_on(self) -> bool:
        """Choose the next option; return False if nothing is left."""
        self.decision += 1
        return self.decision < self.options


Node = TurnNode | ValueNode
