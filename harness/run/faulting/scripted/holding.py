"""Rules of the carrier that hold what the steps of a script name, until their turn has come."""

import collections
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from harness import clocks, errors
from harness.faults import injection, matching
from harness.run.faulting import carriers
from harness.scenario import script_specs

POLL_S = 0.02
"""Seconds between two looks at the carrier."""
_POLLS = 3
"""Lists of a resource after which a client is taken for one that lists instead of watching."""
_OLD_S = 600.0
"""Age of the states that a deletion may be decided from, in seconds."""
Applied = injection.Applied
Found = TypeVar("Found")
_KINDS: Mapping[tuple[str, type[Any]], str] = {
    ("request", injection.Block): "delay-request",
    ("request", injection.Lose): "lose-request",
    ("request", injection.Reject): "reject",
    ("request", injection.Overlook): "overlook-finalizers",
    ("response", injection.Block): "delay-response",
    ("response", injection.Lose): "lose-response",
    ("response", injection.Truncate): "truncate-response",
    ("request", injection.Delay): "delay-request",
    ("response", injection.Delay): "delay-response",
    ("event", injection.Delay): "delay-events",
    ("event", injection.Block): "delay-events",
    ("event", injection.Drop): "drop-watch",
    ("event", injection.Gone): "expire-watch",
}
"""The kind of fault of a scenario that does the same, by which the record knows the effect."""


_POINTS: Mapping[str, injection.Point] = {
    "request": "request",
    "answer": "response",
    "event": "event",
}


class StepLateError(errors.FaultError):
    """A step did not happen by its deadline."""


class Patience:
    """Waits for things until a deadline, or until the script has to end."""

    def __init__(self, is_over: Callable[[], bool], *, seconds: float) -> None:
        self.is_over, self._until_ns = is_over, clocks.monotonic_ns() + seconds * 1e9

    def until(self, look: Callable[[], Found | None], what: str) -> Found:
        """Return what `look` returns as soon as it is true; raise StepLateError if it is late."""
        while not (found := look()):
            if self.is_over():
                raise StepLateError(f"the run ended before {what} came")
            if clocks.monotonic_ns() > self._until_ns:
                raise StepLateError(f"it still waited for {what}")
            clocks.sleep(POLL_S)
        return found


class Holds:
    """The rules of one script."""

    def __init__(self, session: carriers.CarrierSession, *, namespace: str) -> None:
        self._session, self._namespace = session, namespace
        self._on: set[str] = set()

    def arm(self, number: int, step: script_specs.Step) -> None:
        match step:
            case script_specs.Calls():
                self._add(_name(number), "request", _action(step), self._match(step))
            case script_specs.Deliver():
                self._add(_name(number), "event", injection.Block(), self._match(step), count=None)
            case script_specs.EndWatch():
                kind = injection.Gone if step.how == "gone" else injection.Drop
                ends = kind(held=step.since is not None)
                self._add(_name(number), "event", ends, self._match(step))

    def overlook(self, number: int, resource: str, name: str) -> None:
        match = matching.Match(
            verbs=("delete",), resource=resource, name=name, namespace=self._namespace
        )
        self._add(_name(number), "request", injection.Overlook(seconds=_OLD_S), match)

    def watch_answer(self, number: int, step: script_specs.Calls, answer: str) -> None:
        actions: Mapping[str, injection.Action] = {
            "sent": injection.Delay(seconds=0),
            "lost": injection.Lose(),
            "cut": injection.Truncate(),
            "held": injection.Block(),
        }
        self._add(_name(number, "answer"), "response", actions[answer], self._match(step))

    def watch_start(self, client: str) -> None:
        match = matching.Match(clients=(client,), verbs=("watch", "list"))
        self._add(_name("start", client), "request", injection.Delay(seconds=0), match, count=None)

    def watched(self, client: str) -> set[str]:
        """Return the resources that a client watches since `watch_start`, or lists all the time."""
        seen = [item.facts for item in self._all_applied("start", client)]
        listed = collections.Counter(facts.resource for facts in seen if facts.verb == "list")
        polled = {resource for resource, count in listed.items() if count >= _POLLS}
        return polled | {facts.resource for facts in seen if facts.verb == "watch"}

    def slow(self, client: str, kind: str, seconds: float) -> None:
        """Let status writes of claims, their answers, or events of claims wait for a time."""
        is_event = kind == "event"
        match = matching.Match(
            clients=(client,),
            verbs=() if is_event else script_specs.WRITES,
            resource="resourceclaims",
            subresource="" if is_event else "status",
            namespace=self._namespace,
        )
        point = _POINTS[kind]
        self._add(_name("slow", client), point, injection.Delay(seconds=seconds), match, count=None)

    def applied(self, *rule: object) -> Applied | None:
        """Return the first thing that a rule has held or hit; None: nothing yet."""
        return next(self._all_applied(*rule), None)

    def let_go(self, *rule: object) -> None:
        """Remove the rule of a step, or the one of its answer; or of what is slow, or starts."""
        if (name := _name(*rule)) in self._on:
            self._on.discard(name)
            self._session.switch_off(name)

    def clear(self) -> None:
        while self._on:
            self._session.switch_off(self._on.pop())

    # ---------------------------------------------------------------------- rules

    def _match(self, step: script_specs.Calls | script_specs.Events) -> matching.Match:
        """Return what a step is about; lists of objects without a name may be of all namespaces."""
        target = step.target
        is_own = target.name and target.resource in script_specs.ScriptObject.resources.values()
        return matching.Match(
            clients=(step.client,),
            resource=target.resource,
            name=target.name,
            namespace=self._namespace if is_own else "",
            verbs=step.verbs if isinstance(step, script_specs.Calls) else (),
            subresource=target.subresource if isinstance(step, script_specs.Calls) else None,
        )

    def _add(
        self,
        name: str,
        point: injection.Point,
        action: injection.Action,
        match: matching.Match,
        *,
        count: int | None = 1,
    ) -> None:
        rule = injection.FaultSpec(point=point, action=action, match=match, count=count, name=name)
        kind = _KINDS.get((point, type(action)), "")
        self._session.switch_on(msgspec.to_builtins(rule), kind=kind)
        self._on.add(name)

    def _all_applied(self, *rule: object) -> Iterator[Applied]:
        name = _name(*rule)
        return (item for item in self._session.applied() if item.fault == name)


def _action(step: script_specs.Calls) -> injection.Action:
    match step:
        case script_specs.LostRequest():
            return injection.Lose()
        case script_specs.RefusedRequest():
            return injection.Reject(
                code=step.code, reason=step.reason, message="refused by a script"
            )
        case script_specs.LateRequest(do="sever-request"):
            return injection.Block(sever=True)
    return injection.Block()


def _name(*parts: object) -> str:
    return carriers.rule_name(script_specs.JOURNAL, *map(str, parts))
