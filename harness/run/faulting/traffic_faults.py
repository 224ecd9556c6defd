"""Injects faults of API calls and watch events: a rule of the carrier, switched on and off."""

from harness import clocks
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
        deadline_ns = _deadline_ns(self._fault.duration_s)
        while not ending.over.wait(injecting.STEP_S):
            if clocks.monotonic_ns() >= deadline_ns or self._is_used_up():
                return

    def heal(self, ending: injecting.Ending) -> None:
        """Switch the rule off, which lets go what it holds or delays."""
        del ending
        self._session.switch_off(self._fault.name)

    def _is_used_up(self) -> bool:
        """Return whether the rule has hit all that it may, and none of that still lasts."""
        count = self._fault.rule["count"]
        return count is not None and self._journal.ended_count(self._fault.name) >= count


def _deadline_ns(duration_s: float | None) -> float:
    return float("inf") if duration_s is None else clocks.monotonic_ns() + duration_s * 1e9
