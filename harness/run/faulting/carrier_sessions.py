"""A carrier during one run: the rules that are on, and what they have hit.

A restart of the carrier is survived.
"""

from collections.abc import Callable, Mapping
from typing import Any

from harness import concurrency, errors
from harness.run.faulting import applications, carriers, fault_journal

Rule = Mapping[str, Any]


class CarrierSession:
    """The rules that a run has switched on, and the reader of their applications.

    Threads may share it.
    """

    def __init__(
        self,
        carrier: carriers.Carrier,
        journal: fault_journal.FaultJournal,
        *,
        kinds: Mapping[str, str],
    ) -> None:
        """Switch off what an earlier run has left; `kinds` of the faults by their names.

        Raises FaultError if the carrier does not answer.
        """
        carrier.clear()
        self._carrier, self._journal = carrier, journal
        self._reader = applications.ApplicationReader(
            carrier, journal, kinds=kinds, after=carrier.last_sequence()
        )
        self._guard = concurrency.lock("fault-carrier")
        self._on: dict[str, Rule] = {}
        self.problem = ""
        """Why applications may be missing in the journal; empty: they are complete."""

    def switch_on(self, rule: Rule) -> None:
        """Add a rule. Raises FaultError if the carrier does not accept it."""
        with self._guard:
            self._carrier.add(rule)
            self._on[rule["name"]] = rule

    def switch_off(self, name: str) -> None:
        """Remove a rule, which lets go what it holds or delays. Raises FaultError on failure."""
        with self._guard:
            self._on.pop(name, None)
            self._carrier.remove(name)

    def read(self, *, is_last: bool = False) -> None:
        """Journal new applications; `is_last`: also those that have not ended."""
        with self._guard:
            self._read(is_last=is_last)

    @property
    def lasting(self) -> int:
        """The number of applications that had not ended at the last reading."""
        return self._reader.lasting

    def across_restart(self, restart: Callable[[], None]) -> None:
        """Call `restart`, which ends the carrier and starts it again; then switch the rules on.

        A rule that may hit a number of calls gets what is left of it.
        """
        with self._guard:
            for name in self._on:
                self._carrier.remove(name)
            self._read(is_last=True)
            restart()
            self._reader.carrier_was_restarted()
            for rule in self._on.values():
                self._switch_on_again(rule)

    def _switch_on_again(self, rule: Rule) -> None:
        count = rule["count"]
        left = None if count is None else count - self._journal.count(rule["name"])
        if left is None or left > 0:
            self._carrier.add({**rule, "count": left})

    def _read(self, *, is_last: bool = False) -> None:
        try:
            self._reader.read(is_last=is_last)
        except errors.FaultError as error:
            self.problem = self.problem or f"its effects may not be complete: {error}"
