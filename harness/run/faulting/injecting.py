"""One fault under way: injected, healed and recorded, whatever its kind is."""

import contextlib
import dataclasses
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

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


class Ending:
    """The times at which the faults of a run begin to count and have to end."""

    def __init__(self) -> None:
        self.load_begun = concurrency.Event("faults-load-begun")
        """Set when the load has begun, from which on the times of faults count."""
        self.over = concurrency.Event("faults-over")
        self.is_abandoned = False
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
        return apis.Api(transports.connect(self.cluster.kubeconfig.resolve()))

    def guard(self, process: str) -> concurrency.Lock:
        return self.guards.setdefault(process, concurrency.lock(f"faults-of-{process}"))


class Injection:
    """One fault under way, for the function that injects its kind."""

    def __init__(self, fault: plans.PlannedFault, stage: Stage, ending: Ending) -> None:
        self.fault, self.stage, self.ending = fault, stage, ending
        self.parameters: Mapping[str, Any] = fault.parameters
        self.undo = contextlib.ExitStack()
        """Heals the fault, whatever happened before."""
        self._window = stage.journal.open_window(fault.name, fault.kind)

    def perform(self, act: "Act") -> None:
        """Inject the fault, heal it, and record its window with the errors of both."""
        window = self._window
        try:
            act(self)
        except Exception as error:  # noqa: BLE001 - the edge of a thread: the record shows the error
            window.errors.append(f"it could not be injected as planned: {_told(error)}")
        self.begun()
        try:
            self.undo.close()
        except Exception as error:  # noqa: BLE001 - as above
            window.errors.append(f"it could not be healed: {_told(error)}")
        window.ended_ns = clocks.monotonic_ns()

    def begun(self) -> None:
        self._window.has_begun = True

    def connected(self) -> apis.Api:
        api = self.stage.connected()
        self.undo.callback(api.transport.close)
        return api

    def wait(self, seconds: float) -> bool:
        return self.ending.over.wait(seconds)

    def wait_for_end(self, is_done: Callable[[], bool] = lambda: False) -> None:
        """Return when the fault is done, has lasted its time under load, or has to end."""
        duration_s, deadline_ns = self.fault.duration_s, float("inf")
        while not self.wait(STEP_S) and not is_done():
            now_ns = clocks.monotonic_ns()
            if duration_s is not None and self.ending.load_begun.is_set():
                deadline_ns = min(deadline_ns, now_ns + duration_s * 1e9)
            if now_ns >= deadline_ns:
                return

    def repeat(self, process: str, act: Callable[[], None]) -> None:
        """Act as often as the scenario says; faults of one process wait for each other."""
        for number in range(self.parameters.get("times", 1)):
            if number and self.wait(self.parameters["interval_s"]):
                return
            with self.stage.guard(process):
                if not self.ending.over.is_set():
                    act()

    def effect(self, process: str, detail: str) -> fault_journal.Effect:
        return self.stage.journal.effect(self.fault.name, self.fault.kind, process, detail)

    def changed(
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
        self.stage.journal.took_effect(self.fault.name)
        self.stage.journal.write(
            records.FaultApplied(
                fault=self.fault.name,
                kind=self.fault.kind,
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


Act = Callable[[Injection], None]
"""Lets a fault last, and returns when it is done, or soon when it has to end."""


def _told(error: Exception) -> str:
    is_ours = isinstance(error, errors.HarnessError)
    return str(error) if is_ours else f"{type(error).__name__}: {error}"
