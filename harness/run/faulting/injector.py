"""Switches the faults of a run on and off, and heals them all in the end.

Each fault has a thread, which waits for its start, injects it through `injecting.inject`, and ends
when it is healed. One more thread reads what the carrier has applied.
"""

from collections.abc import Callable, Mapping, Sequence

from harness import clocks, concurrency
from harness.history import plans
from harness.run.faulting import carriers, fault_journal, injecting
from harness.scenario import script_specs

POLL_S = 0.1
"""Seconds between two readings of the carrier's applications."""
ON_TIMEOUT_S = 10.0
"""Time limit for the faults that begin with the load to be switched on, in seconds."""
HEAL_TIMEOUT_S = 60.0
"""Time limit for a fault to end and be healed, in seconds; a process may take long to start."""
LASTING_TIMEOUT_S = 5.0
"""Time limit for delayed calls and events to go on after everything was healed, in seconds."""


class Injector:
    """The faults of one run."""

    def __init__(
        self,
        faults: Sequence[plans.PlannedFault],
        injections: Mapping[str, injecting.Injection],
        journal: fault_journal.FaultJournal,
        session: carriers.CarrierSession | None = None,
        *,
        has_load: Callable[[], bool],
    ) -> None:
        """`injections` by the names of the faults; `session` None: there are none of traffic.

        `has_load` returns whether the load has made its first pod.
        """
        self._faults, self._injections = faults, injections
        self._journal, self._session, self._has_load = journal, session, has_load
        self.over = concurrency.Event("faults-over")
        """Set when all faults have to end."""
        self.is_abandoned = False
        """True if the run ends at once, so that processes need not be started again."""
        self.load_begun = concurrency.Event("faults-load-begun")
        """Set when the load has begun; all times of faults count from then."""
        self._load_begun_ns = 0
        self._subject_ready = concurrency.Event("faults-subject-ready")
        self._reading_over = concurrency.Event("faults-reading-over")
        self._reading: concurrency.Thread | None = None
        self._threads: list[concurrency.Thread] = []
        self._is_healed = False
        self._problem = ""
        """Why a fault may not be healed; empty: all are."""

    # ---------------------------------------------------------------------- the run's calls

    def start(self) -> None:
        """Begin, before the load starts: faults of traffic that begin with it are on when this
        returns.

        Raises WaitTimeoutError if they are not.
        """
        if self._session is not None:
            self._reading = concurrency.spawn("faults-reading", self._read_on)
        self._threads = [
            concurrency.spawn("faults-load", self._wait_for_load),
            *(self._spawn(fault) for fault in self._faults),
        ]
        why = "the first faults to be switched on"
        clocks.wait_until(self._first_are_on, timeout_s=ON_TIMEOUT_S, why=why)

    def subject_is_ready(self) -> None:
        self._subject_ready.set()

    def active(self) -> list[str]:
        return self._journal.active()

    def is_awaited(self) -> bool:
        """Return whether a fault has yet to happen as often as it has to."""
        ended = self._journal.begun().difference(self.active())
        return any(
            fault.required and self._journal.ended_count(fault.name) < fault.owed
            for fault in self._faults
            if fault.name not in ended
        )

    def has_ended(self, name: str) -> bool:
        """Return whether a fault was on, and is no more."""
        return name in self._journal.begun() and name not in self.active()

    def require_journal(self) -> None:
        if self._journal.failure is not None:
            raise self._journal.failure

    def heal(self, *, is_abandoned: bool = False) -> None:
        """End and heal all faults, read their last applications, and close the journal.

        `is_abandoned`: the run ends at once. Does nothing when all is healed already.
        """
        if self._is_healed:
            return
        self.is_abandoned = is_abandoned
        self.over.set()
        for thread in self._threads:
            self._join(thread)
        self._reading_over.set()
        if self._reading is not None:
            self._join(self._reading)
        self._read_the_rest()
        missing = self._session.problem if self._session is not None else ""
        self._journal.close(problem="; ".join(filter(None, [self._problem, missing])))
        self._is_healed = True

    # ---------------------------------------------------------------------- one fault

    def _spawn(self, fault: plans.PlannedFault) -> concurrency.Thread:
        return concurrency.spawn(f"fault {fault.name}", lambda: self._perform(fault))

    def _wait_for_load(self) -> None:
        while not self._has_load():
            if self.over.wait(injecting.STEP_S):
                return
        self._load_begun_ns = clocks.monotonic_ns()
        self.load_begun.set()

    def _perform(self, fault: plans.PlannedFault) -> None:
        injection = self._injections[fault.name]
        if _begins_with_load(fault) or self._wait_for_start(fault, injection):
            injecting.inject(fault, injection, self._journal, ending=self)

    def _wait_for_start(self, fault: plans.PlannedFault, injection: injecting.Injection) -> bool:
        if not self._wait_until(self.load_begun.is_set):
            return False
        from_ns = self._load_begun_ns
        if fault.start_after is not None:
            after = fault.start_after
            if not self._wait_until(lambda: self._journal.count(after.fault) >= after.applied):
                return False
            from_ns = clocks.monotonic_ns()
        left_s = fault.start_s - (clocks.monotonic_ns() - from_ns) / 1e9
        if left_s > 0 and self.over.wait(left_s):
            return False
        return not injection.needs_subject or self._wait_until(self._subject_ready.is_set)

    def _wait_until(self, condition: Callable[[], bool]) -> bool:
        while not condition():
            if self.over.wait(injecting.STEP_S):
                return False
        return not self.over.is_set()

    def _first_are_on(self) -> bool:
        begun = self._journal.begun()
        return all(fault.name in begun for fault in self._faults if _begins_with_load(fault))

    def _join(self, thread: concurrency.Thread) -> None:
        thread.join(HEAL_TIMEOUT_S)
        if thread.is_alive():
            self._problem = f"`{thread.name}` did not end within {HEAL_TIMEOUT_S:g} s"

    # ---------------------------------------------------------------------- applications

    def _read_on(self) -> None:
        while self._session and not self._reading_over.wait(POLL_S):
            self._session.read()

    def _read_the_rest(self) -> None:
        if self._session is None:
            return
        deadline_ns = clocks.monotonic_ns() + LASTING_TIMEOUT_S * 1e9
        self._session.read()
        while self._session.lasting and clocks.monotonic_ns() < deadline_ns:
            clocks.sleep(injecting.STEP_S)
            self._session.read()
        self._session.read(is_last=True)


def _begins_with_load(fault: plans.PlannedFault) -> bool:
    is_early = bool(fault.rule) or fault.kind == script_specs.JOURNAL
    return is_early and not fault.start_s and fault.start_after is None
