"""Runs of a world that follow an order of atoms and are natural otherwise.

Natural is: a request is carried out at once, and its events are delivered before anything else. So
whatever such a run finds needs nothing but this order, which can be commanded from outside.
"""

from collections.abc import Callable, Iterable, Sequence

from harness.apiserver.storage import watch_cache
from harness.confirmation import api_atoms
from harness.explore.runtime import choices, tasks
from harness.explore.search import explored_run, tokens
from harness.explore.worlds import api_events

_TIMERS_MAX = 1000
"""Number of timers of a run that expire while something is held."""


class Following:
    """A strategy that holds what an order names until its turn has come."""

    def __init__(self, order: Iterable[api_atoms.Atom]) -> None:
        """`order`: the atoms whose order matters."""
        atoms = [atom for atom in order if not atom.is_free]
        self._order = [atom.key for atom in atoms]
        self._faults = {atom.key: atom.fault for atom in atoms if atom.fault}
        self._ends = {_swallowed(atom): atom.key for atom in atoms if atom.kind == "end-watch"}
        self._actors = [atom.event.task for atom in atoms if atom.kind == "process"]
        self._processes = [atom.key for atom in atoms if atom.kind == "process"]
        self._naming = api_atoms.Naming()
        self._watching: dict[str, Callable[[], watch_cache.Commit | None]] = {}
        self._clients: dict[str, str] = {}
        """The client of each task that reads a watch."""
        self._at_watch: set[str] = set()
        self._deciding: api_events.ApiEvent | None = None
        self._rest_until_ns: int | None = None
        """Virtual time at which a rest ends; None: there is none."""

    def hear(self, event: api_events.ApiEvent) -> None:
        """Note an event of the run."""
        if event.task in self._naming.answered:
            self._done(api_atoms.answer_key(self._naming.answered[event.task]))
        atom = self._naming.atom(event)
        self._deciding = event if event.kind == "may-fail" else None
        if event.kind == "awaits" and event.next_commit is not None:
            self._watching[event.task] = event.next_commit
            self._clients[event.task] = event.client
            self._at_watch.add(event.task)
        elif event.kind in ("delivered", "ended-watch"):
            self._at_watch.discard(event.task)
        if atom is not None and not self._waits_for_fault(atom):
            self._done(atom.key)

    def _waits_for_fault(self, atom: api_atoms.Atom) -> bool:
        """Return whether a request was carried out whose answer is to be lost."""
        expected = self._faults.get(atom.key, "")
        return atom.kind == "request" and expected == "lose-response" and atom.fault != expected

    def _done(self, key: api_atoms.Key) -> None:
        if key in self._order:
            self._order.remove(key)
            if key in self._processes:
                place = self._processes.index(key)
                del self._processes[place], self._actors[place]

    def choose(self, choice: choices.Choice) -> int:
        """Return the option whose turn it is, or the natural one; GIVE_UP if there is none."""
        if not choice.tasks:
            return self._choose_fault()
        listed = choice.tasks[: choice.options - choice.timers]
        things = [self._next_of(task) for task in listed]
        chosen = self._choose_task(choice, listed, things)
        if 0 <= chosen < len(listed) and (name := listed[chosen].name) in self._naming.answered:
            self._done(api_atoms.answer_key(self._naming.answered.pop(name)))
        return chosen

    def _choose_task(
        self,
        choice: choices.Choice,
        listed: Sequence[tasks.Task],
        things: Sequence[api_atoms.Key | None],
    ) -> int:
        if self._order and self._order[0] in things:
            return things.index(self._order[0])
        if self._is_rested(choice, things):
            del self._order[0]
            self._rest_until_ns = None
            return self._choose_task(choice, listed, things)
        allowed = [index for index, key in enumerate(things) if key not in self._order]
        delivering = [index for index in allowed if listed[index].name in self._watching]
        if not allowed:
            return len(listed) if choice.timers else choices.GIVE_UP
        is_undisturbed = choice.free == 1 and 0 in allowed and not delivering
        return 0 if is_undisturbed else (delivering or allowed)[0]

    def _is_rested(self, choice: choices.Choice, things: Sequence[api_atoms.Key | None]) -> bool:
        """Return whether a rest was next, and is over."""
        if not self._order or self._order[0][0] != "rest":
            return False
        now_ns = choice.runtime.monotonic_ns()
        if self._rest_until_ns is None:
            self._rest_until_ns = now_ns + round(api_atoms.REST_S * 1e9)
        is_idle = all(key in self._order for key in things)
        return is_idle and (not choice.timers or now_ns >= self._rest_until_ns)

    def _next_of(self, task: tasks.Task) -> api_atoms.Key | None:
        """Return the name of what happens next if a task runs; None: nothing that has a name."""
        name = task.name
        if name in self._naming.requests:
            return self._naming.requests[name]
        if name in self._naming.late:
            return ("arrival", *self._naming.late[name][1:])
        if name in self._naming.answered:
            return api_atoms.answer_key(self._naming.answered[name])
        if name in self._at_watch:
            return self._next_event(name)
        if name in self._actors:
            return self._processes[self._actors.index(name)]
        return None

    def _next_event(self, name: str) -> api_atoms.Key | None:
        commit = self._watching[name]()
        if commit is None:
            return None
        key = self._naming.key_of_event(self._clients[name], self._naming.change_in(commit))
        return self._ends.get(key, key)

    def _choose_fault(self) -> int:
        event = self._deciding
        if event is None:
            return 0
        is_of_request = bool(event.verb)
        task = event.task
        key = self._naming.requests.get(task) if is_of_request else self._next_event(task)
        fault = self._faults.get(key or (), "")
        is_next = bool(self._order) and self._order[0] == key
        return 1 + event.faults.index(fault) if is_next and fault in event.faults else 0


def _swallowed(atom: api_atoms.Atom) -> api_atoms.Key:
    """Return the name of the delivery in whose place a watch ends."""
    return ("event", *atom.key[1:])


def follow(
    token: tokens.Token, order: Iterable[api_atoms.Atom], *, record: bool = False
) -> explored_run.ExploredRun:
    """Run the world of a token in an order of atoms."""
    strategy = Following(order)
    return explored_run.explore_once(
        token.spec,
        strategy,
        defects=token.defects,
        remedies=token.remedies,
        record=record,
        hear=strategy.hear,
        early_max=_TIMERS_MAX,
    )
