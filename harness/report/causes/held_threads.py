"""Threads that the run held at places of their program, by a script or in a search of orders."""

from collections.abc import Iterator
from typing import NamedTuple

from harness.checks import plan_facts, run_course
from harness.history import histories, records
from harness.model import thread_places


class HeldThread(NamedTuple):
    """A thread from its stop to its release; `ended_ns` None: it was not released."""

    who: str
    """The thread and its place: `goroutine 7 at the return of …`."""
    stack: str
    """A clause about the functions that it was in, or an empty string."""
    begun_ns: int
    ended_ns: int | None

    @property
    def text(self) -> str:
        return f"{self.who} is held" + f"; {self.stack}" * bool(self.stack)


def of_script(history: histories.History) -> Iterator[HeldThread]:
    played = {item.step: item for item in run_course.script_steps(history) if not item.late}
    planned = plan_facts.steps(history.plan)
    released = {
        step["hold"]: played[number].ended_ns
        for number, step in enumerate(planned, start=1)
        if step["do"] == "release-thread" and number in played
    }
    for number, step in enumerate(planned, start=1):
        if step["do"] == "hold-thread" and number in played:
            who, _, stack = played[number].seen.partition("; ")
            yield HeldThread(who, stack, played[number].ended_ns, released.get(step["name"]))


def of_orders(history: histories.History) -> Iterator[HeldThread]:
    for tried in history.orders() or ():
        if isinstance(tried, records.OrderTried) and tried.found:
            for hold in tried.holds:
                who = f"goroutine {hold.goroutine} at the {thread_places.shortened(hold.place)}"
                stack = f"it is in {' < '.join(hold.stack)}"
                yield HeldThread(who, stack, hold.begun_ns, hold.ended_ns)
