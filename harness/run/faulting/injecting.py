"""The base of all faults that a run injects, and the one wrapper that injects them."""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from harness import clocks, concurrency, errors
from harness.client import apis, transports
from harness.cluster import interfaces
from harness.history import directories, journal_writer, plans, records
from harness.model.objects import Object
from harness.run import run_processes, supervising
from harness.run.faulting import carriers, fault_journal
from harness.scenario import script_specs, specs

STEP_S = 0.05
"""Seconds between two looks at whether a fault has to end."""
CLIENT = "run"
"""Name in the record of what writes objects as a fault."""


class Ending(Protocol):
    """The times at which a fault begins and has to end."""

    @property
    def load_begun(self) -> concurrency.Event:
        """Set when the load has begun, from which on the time of a fault counts."""

    @property
    def over(self) -> concurrency.Event:
        """Set when all faults have to end."""

    @property
    def is_abandoned(self) -> bool:
        """True if the run ends at once, so that processes need not be started again."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The parts of a run that faults act on."""

    plan: plans.Plan
    scenario: specs.Scenario
    directory: directories.RunDirectory
    cluster: interfaces.Cluster
    supervisor: supervising.Supervisor
    processes: run_processes.RunProcesses
    journal: fault_journal.FaultJournal
    session: carriers.CarrierSession | None = None
    """None: no fault needs a carrier, or it is not prepared yet."""
    guards: dict[str, concurrency.Lock] = dataclasses.field(default_factory=dict)

    @property
    def carried(self) -> carriers.CarrierSession:
        if self.session is None:
            raise errors.FaultError("expected a carrier of faults, but the plan has none")
        return self.session

    def journaled(self, path: pathlib.Path) -> journal_writer.Writer:
        return journal_writer.Writer(path, process=script_specs.JOURNAL, run_id=self.plan.run_id)

    def connected(self) -> apis.Api:
        """Return a client of the API server, whose connection a fault closes when it is healed."""
        return apis.Api(transports.connect(self.cluster.kubeconfig.resolve()))

    def guard(self, process: str) -> concurrency.Lock:
        return self.guards.setdefault(process, concurrency.lock(f"faults-of-{process}"))


class Injection:
    """How a fault is injected and healed. Every method may raise HarnessError."""

    needs_subject = False
    """True if it begins when the subject is ready at the earliest."""

    def __init__(self, fault: plans.PlannedFault, stage: Stage) -> None:
        self._fault, self._stage, self._journal = fault, stage, stage.journal
        self._parameters: Mapping[str, Any] = fault.parameters

    def begin(self) -> None:
        """Switch the fault on, if it is one that is switched on, and return at once."""

    def last(self, ending: Ending) -> None:
        """Let the fault last; return when it is done, and soon when it has to end."""
        raise NotImplementedError

    def heal(self, ending: Ending) -> None:
        """Undo what is left of it; called once, whatever happened before."""

    def _changed(
        self,
        resource: str,
        meta: Object,
        *,
        verb: str,
        detail: str,
        begun_ns: int,
        subresource: str = "",
        client: str = CLIENT,
    ) -> None:
        self._journal.took_effect(self._fault.name)
        self._journal.write(
            records.FaultApplied(
                fault=self._fault.name,
                kind=self._fault.kind,
                client=client,
                verb=verb,
                resource=resource,
                subresource=subresource,
                namespace=meta.get("namespace", ""),
                name=meta["name"],
                uid=meta["uid"],
                resource_version=int(meta["resourceVersion"]),
                begun_ns=begun_ns,
                ended_ns=clocks.monotonic_ns(),
                detail=detail,
            )
        )


def wait_for_end(
    ending: Ending, *, duration_s: float | None, is_done: Callable[[], bool] = lambda: False
) -> None:
    """Return when a fault is done, has lasted this long under load, or has to end.

    `duration_s` None: there is no such limit.
    """
    deadline_ns = float("inf")
    while not ending.over.wait(STEP_S) and not is_done():
        now_ns = clocks.monotonic_ns()
        if duration_s is not None and ending.load_begun.is_set():
            deadline_ns = min(deadline_ns, now_ns + duration_s * 1e9)
        if now_ns >= deadline_ns:
            return


def inject(
    fault: plans.PlannedFault,
    injection: Injection,
    journal: fault_journal.FaultJournal,
    *,
    ending: Ending,
) -> None:
    """Inject a fault, heal it, and record its window with the errors of both."""
    window = journal.open_window(fault.name, fault.kind)
    try:
        try:
            injection.begin()
        finally:
            window.has_begun = True
        injection.last(ending)
    except Exception as error:  # noqa: BLE001 - the edge of a thread: the record shows the error
        window.errors.append(f"it could not be injected as planned: {_told(error)}")
    try:
        injection.heal(ending)
    except Exception as error:  # noqa: BLE001 - as above
        window.errors.append(f"it could not be healed: {_told(error)}")
    window.ended_ns = clocks.monotonic_ns()


def _told(error: Exception) -> str:
    """Return an error as text; those that are not ours need their type to be understood."""
    is_ours = isinstance(error, errors.HarnessError)
    return str(error) if is_ours else f"{type(error).__name__}: {error}"
