"""Plays a script step by step, as a fault of the run."""

import contextlib
import functools
from collections.abc import Callable, Mapping
from typing import Any

from harness import clocks, errors
from harness.client import transports
from harness.history import records
from harness.model import naming
from harness.run import subjects
from harness.run.faulting import injecting
from harness.run.faulting.scripted import (
    holding,
    order_search,
    script_objects,
    thread_holding,
)
from harness.scenario import script_specs

START_S = 30.0
"""Time limit for a process to watch pods and claims, in seconds."""
WATCHED = frozenset({"pods", "resourceclaims"})
"""The resources that a process watches when it is ready."""
_ORPHANED_S = 0.5
"""Time after which a request is taken for carried out whose client cannot be answered any more."""
_CHANGES: Mapping[str, tuple[str, str]] = {
    "kill": ("kill-process", "killed"),
    "stop": ("restart-process", "stopped"),
    "pause": ("pause-process", "paused"),
}
"""Kind of fault and effect of each change of a process; to resume one is the end of a pause."""


def play(it: injecting.Injection) -> None:
    player = ScriptPlayer(it)
    it.undo.callback(player.heal)
    player.begin()
    it.begun()
    player.play()


class ScriptPlayer:
    """A script, and what of it has happened."""

    def __init__(self, it: injecting.Injection) -> None:
        stage, script = it.stage, it.stage.scenario.traffic
        assert isinstance(script, script_specs.ScriptTraffic)  # noqa: S101 - only scripts are played
        self._stage, self._script, self._processes = stage, script, stage.supervisor
        self._is_over, self._journal = it.ending.over.is_set, stage.journal
        self._holds = holding.Holds(stage.carried, namespace=stage.plan.namespace)
        subject = stage.scenario.subject
        self._steps = stage.journaled(stage.directory.script)
        self._threads = thread_holding.ThreadHolds(
            stage.directory, with_steps=subjects.python_parts(subject)
        )
        self._objects = script_objects.ScriptObjects(stage)
        self._orders = stage.journaled(stage.directory.orders) if script.searched else None
        it.undo.callback(self._close)
        self._subject = [*subjects.owned_schedulers(subject), *subjects.owned_controllers(subject)]
        """The processes that have to be ready before the first step."""
        self._numbered = list(enumerate(script.steps, start=1))
        self._named = {step.name: (number, step) for number, step in self._numbered if step.name}
        self._paused: list[str] = []
        self._patience = holding.Patience(lambda: False, seconds=0)
        self._number, self._seen = 0, ""
        """The number of the present step, and what of it was seen."""

    def _close(self) -> None:
        self._objects.close()
        self._threads.close()
        self._steps.close()
        if self._orders is not None:
            self._orders.close()

    def begin(self) -> None:
        for client in [*self._subject, *self._script.started]:
            self._holds.watch_start(client)
        self._arm_since(None)

    def heal(self) -> None:
        for name in self._paused:
            self._processes.resume(name)
        self._holds.clear()

    def play(self) -> None:
        for number, step in self._numbered:
            begun_ns, self._number, self._seen = clocks.monotonic_ns(), number, ""
            late = self._late(number, step)
            self._steps.write(
                records.ScriptStep(
                    step=number,
                    text=step.text,
                    late=late,
                    seen=self._seen,
                    begun_ns=begun_ns,
                    ended_ns=clocks.monotonic_ns(),
                )
            )
            if late:
                return

    def _late(self, number: int, step: script_specs.Step) -> str:
        try:
            if number == 1:
                self._patience = holding.Patience(self._is_over, seconds=START_S)
                self._await_start(self._subject)
                self._arm_threads(None)
            self._patience = holding.Patience(self._is_over, seconds=self._script.time_of(step))
            if step.name:
                self._arm_since(step.name)
            self._do(step)
            if number == len(self._script.steps):
                for at, one in self._numbered:
                    if isinstance(one, script_specs.EndWatch):
                        self._await(f"an event of {one.events} for {one.client}", at)
        except (errors.HarnessError, transports.TransportError) as error:
            return str(error) or type(error).__name__
        return ""

    def _arm_since(self, name: str | None) -> None:
        """None: from the beginning. Ends of watches without such a step come at their turn."""
        for number, step in self._numbered:
            if not isinstance(step, script_specs.OfClient) or step.since != name:
                continue
            if name is not None or not isinstance(step, script_specs.EndWatch):
                self._holds.arm(number, step)
        if name is not None:
            self._arm_threads(name)

    def _arm_threads(self, name: str | None) -> None:
        for number, step in self._numbered:
            if isinstance(step, script_specs.OfThread) and step.since == name:
                self._threads.arm(number, step, self._patience)

    # ----------------------------------------------------------------------- the steps

    @functools.singledispatchmethod
    def _do(self, step: script_specs.Step) -> None:
        raise NotImplementedError(type(step).__name__)

    @_do.register
    def _(self, step: script_specs.Create) -> None:
        self._objects.create(self._script.object_named(step.object))

    @_do.register
    def _(self, step: script_specs.Delete) -> None:
        resource, name = self._objects.find(step.object)
        if step.overlooks_finalizers:
            self._holds.overlook(self._number, resource.plural, name)
        self._objects.delete(step.object, force=step.force)
        if step.overlooks_finalizers:
            self._await("an API server that overlooks finalizers, as the embedded one can")
            self._holds.let_go(self._number)

    @_do.register
    def _(self, step: script_specs.Patch) -> None:
        self._objects.patch(step.object, step.document, subresource=step.subresource)

    @_do.register
    def _(self, step: script_specs.Request) -> None:
        self._await(step.what)
        self._carry_out(self._number, step, step.answer)
        if step.answer != "held":
            self._holds.let_go(self._number, "answer")

    @_do.register(script_specs.LostRequest)
    @_do.register(script_specs.RefusedRequest)
    def _(self, step: script_specs.LostRequest | script_specs.RefusedRequest) -> None:
        self._await(step.what)
        self._holds.let_go(self._number)

    @_do.register
    def _(self, step: script_specs.LateRequest) -> None:
        self._await(step.what)

    @_do.register
    def _(self, step: script_specs.Late) -> None:
        number, late = self._named[step.request]
        if step.do == "answer":
            self._holds.let_go(number, "answer")
        elif isinstance(late, script_specs.LateRequest) and late.do == "hold-request":
            self._carry_out(number, late, "sent")
            self._holds.let_go(number, "answer")
        else:
            self._holds.let_go(number)
            clocks.sleep(_ORPHANED_S)

    @_do.register
    def _(self, step: script_specs.Deliver) -> None:
        self._await(f"an event of {step.events} for {step.client}")
        self._holds.let_go(self._number)

    @_do.register
    def _(self, step: script_specs.EndWatch) -> None:
        if step.since is None:
            self._holds.arm(self._number, step)
        else:
            self._await(f"an event of {step.events} for {step.client}")
            self._holds.let_go(self._number)

    @_do.register
    def _(self, step: script_specs.HoldThread) -> None:
        self._seen = self._threads.await_visit(self._number, step, self._patience)

    @_do.register
    def _(self, step: script_specs.PassThread) -> None:
        with contextlib.suppress(*([holding.StepLateError] if step.at_most_s else [])):
            self._seen = self._threads.await_visit(self._number, step, self._patience)

    @_do.register
    def _(self, step: script_specs.ReleaseThread) -> None:
        number, held = self._named[step.hold]
        assert isinstance(held, script_specs.HoldThread)  # noqa: S101 - as loading has checked
        self._threads.release(number, held)

    @_do.register
    def _(self, step: script_specs.TryOrders) -> None:
        search = order_search.OrderSearch(
            step,
            self._script,
            self._objects,
            self._threads,
            self._holds,
            seed=self._stage.plan.seed,
            is_over=self._patience.is_over,
        )
        assert self._orders is not None  # noqa: S101 - the run has opened it for such a step
        self._seen = search.run(self._orders)

    @_do.register
    def _(self, step: script_specs.ChangeProcess) -> None:
        change: Mapping[str, Callable[..., Any]] = {
            "kill": self._processes.kill,
            "stop": self._processes.terminate,
            "pause": self._processes.pause,
        }
        if step.do == "resume":
            self._processes.resume(step.process)
            return
        kind, detail = _CHANGES[step.do]
        process = naming.first_incarnation(step.process)
        with self._journal.effect(script_specs.JOURNAL, kind, process, detail) as facts:
            if step.do == "pause":
                facts["ended_ns"] = None
            if not change[step.do](step.process, fault=script_specs.JOURNAL):
                raise errors.FaultError(f"expected {step.process} to run, but it has ended")
        if step.do == "pause":
            self._paused.append(step.process)

    @_do.register
    def _(self, step: script_specs.Start) -> None:
        new = self._stage.processes.start_next(step.process)
        self._seen = new
        if step.ready:
            self._await_start([new])

    @_do.register
    def _(self, step: script_specs.Await) -> None:
        what = f"{step.object} to be {step.state}"
        with contextlib.suppress(*([holding.StepLateError] if step.at_most_s else [])):
            self._patience.until(lambda: self._objects.has_state(step.object, step.state), what)
            self._seen = what

    @_do.register
    def _(self, step: script_specs.Wait) -> None:
        clocks.sleep(step.seconds)

    # ------------------------------------------------------------------------- waiting

    def _await(self, what: str, *rule: object) -> None:
        """Wait until a rule has hit something, of the present step if none is named."""
        named = rule or (self._number,)
        found = self._patience.until(lambda: self._holds.applied(*named), what)
        self._seen = _described(found)

    def _carry_out(self, number: int, step: script_specs.Calls, answer: str) -> None:
        self._holds.watch_answer(number, step, answer)
        self._holds.let_go(number)
        if self._processes.is_living(step.client):
            self._await(f"the API server's answer to {step.what}", number, "answer")
        else:
            clocks.sleep(_ORPHANED_S)

    def _await_start(self, clients: list[str]) -> None:
        for client in clients:
            self._patience.until(
                lambda client=client: self._holds.watched(client) >= WATCHED,  # type: ignore[misc]
                f"{client} to watch {' and '.join(sorted(WATCHED))}",
            )
            self._holds.let_go("start", client)


def _described(found: holding.Applied) -> str:
    facts = found.facts
    target = "/".join(filter(None, [facts.resource, facts.name, facts.subresource]))
    version = f" at version {facts.resource_version}" if facts.resource_version else ""
    return f"{facts.event_type or facts.verb} {target}{version}"
