"""Injects faults of API calls and watch events: a rule of the carrier, switched on and off."""

from harness.history import plans
from harness.run.faulting import carrier_sessions, fault_journal, injecting


class TrafficFault:
    """A fault of traffic."""

    needs_subject = False

    def __init__(
        self,
        fault: plans.PlannedFault,
        session: carrier_sessions.CarrierSession,
        journal: fault_journal.FaultJournal,
    ) -> None:
        self._fault, self._session, self._journal = fault, session, journal

    def begin(self) -> None:
        """Switch the rule on."""
        self._session.switch_on(self._fault.rule)

    def last(self, ending: injecting.Ending) -> None:
        """Wait for its time to pass, or until it is used up."""
        injecting.wait_for_end(ending, duration_s=self._fault.duration_s, is_done=self._is_used_up)

    def heal(self, ending: injecting.Ending) -> None:
        """Switch the rule off, which lets go what it holds or delays."""
        del ending
        self._session.switch_off(self._fault.name)

    def _is_used_up(self) -> bool:
        """Return whether the rule has hit all that it may, and none of that still lasts."""
        count = self._fault.rule["count"]
        return count is not None and self._journal.ended_count(self._fault.name) >= count
