"""The threads that a script holds, by the tracers of their programs."""

from collections.abc import Callable, Collection, Sequence

from harness import clocks, errors
from harness.history import directories
from harness.model import naming, thread_places
from harness.run.faulting.scripted import holding
from harness.scenario import script_specs
from harness.threads import messages, tracer_session

ANSWER_S = 10.0


class ThreadHolds:
    """The places of one script."""

    def __init__(
        self, directory: directories.RunDirectory, *, with_steps: Collection[str] = ()
    ) -> None:
        """`with_steps`: the processes that have named steps instead of functions of Go."""
        self._directory, self._with_steps = directory, with_steps
        self._sessions: dict[str, tracer_session.TracerSession] = {}

    def arm(self, number: int, step: script_specs.OfThread, patience: holding.Patience) -> None:
        """Begin to count the visits of a step's place; they count when this returns."""
        holds = isinstance(step, script_specs.HoldThread)
        session = self._session(step.client)
        is_python = naming.first_incarnation(step.client) in self._with_steps
        session.tell(
            messages.Watch(
                name=str(number),
                place=f"step {step.step}" if is_python else step.at,
                holds=holds,
                visit=step.visit,
            )
        )
        _until(
            patience, lambda: session.find(str(number), "watched"), f"the tracer of {step.client}"
        )

    def await_visit(
        self, number: int, step: script_specs.OfThread, patience: holding.Patience
    ) -> str:
        """Wait until a thread has come; return where it is."""
        session, what = self._session(step.client), f"a thread of {step.client} at the {step.at}"
        return told(_until(patience, lambda: session.find(str(number), "held", "passed"), what))

    def release(self, number: int, step: script_specs.HoldThread) -> None:
        """Let a thread go on. Raises FaultError if it went on before, because its time was up."""
        session = self._session(step.client)
        if session.find(str(number), "expired"):
            raise errors.FaultError(
                f"the thread had gone on by itself after {messages.HOLD_MAX_S:g} s"
            )
        session.tell(messages.Release(name=str(number)))

    def begin_try(
        self, step: script_specs.TryOrders, name: str, chosen: Sequence[tuple[str, int]]
    ) -> None:
        """Hold threads at these visits of places from now on, and count all visits from 1."""
        is_first = step.client not in self._sessions
        session = self._session(step.client)
        wanted = (step.functions or None) if is_first and step.depth else []
        session.tell(messages.Try(name=name, functions=wanted, chosen=list(chosen)))
        clocks.wait_until(
            lambda: session.find(name, "begun"), timeout_s=ANSWER_S, why="the tracer to answer"
        )

    def end_try(self, client: str, name: str) -> list[messages.Happened]:
        session = self._session(client)
        session.tell(messages.Release(name=name))
        session.tell(messages.Try(name="", chosen=[]))
        clocks.wait_until(
            lambda: session.find(name, "ended"), timeout_s=ANSWER_S, why="the tracer to answer"
        )
        told, session.told = session.told, []
        return [item for item in told if item.name == name]

    def close(self) -> None:
        for session in self._sessions.values():
            session.close()

    def _session(self, process: str) -> tracer_session.TracerSession:
        if process not in self._sessions:
            path = messages.socket_of(self._directory.logs, process)
            self._sessions[process] = tracer_session.TracerSession(path)
        return self._sessions[process]


def _until(
    patience: holding.Patience, look: Callable[[], messages.Happened | None], what: str
) -> messages.Happened:
    try:
        return patience.until(look, what)
    except errors.UsageError as error:  # the tracer has refused a place
        raise errors.FaultError(str(error)) from error


def told(came: messages.Happened) -> str:
    stack = " < ".join(map(thread_places.short, came.stack))
    return (
        f"goroutine {came.goroutine} at the {thread_places.shortened(came.place)}"
        + f"; it is in {stack}" * bool(stack)
    )
