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


class StepLateError(errors.FaultError):
    """A step did not happen by its deadline."""


class Patience:
    """Waits for things until a deadline, or until the script has to end."""

    def __init__(self, is_over: Callable[[], bool], *, seconds: float) -> None:
        self.is_over, self._until_ns = is_over, clocks.monotonic_ns() + seconds * 1e9

    def until(self, look: Callable[[], Found | None], what: str) -> Found:
        """Return what `look` returns as soon as it is true.

        Raises StepLateError when the time is up; `what` has not happened then.
        """
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
                self._add(_rule_name(number), "request", _action(step), self._match(step))
            case script_specs.Deliver():
                action = injection.Block()
                self._add(_rule_name(number), "event", action, self._match(step), count=None)
            case script_specs.EndWatch():
                is_held = step.since is not None
                kind = injection.Gone if step.how == "gone" else injection.Drop
                ends = kind(held=is_held)
                self._add(_rule_name(number), "event", ends, self._match(step))

    def overlook(self, number: int, resource: str, name: str) -> None:
        match = matching.Match(
            verbs=("delete",), resource=resource, name=name, namespace=self._namespace
        )
        self._add(_rule_name(number), "request", injection.Overlook(seconds=_OLD_S), match)

    def watch_answer(self, number: int, step: script_specs.Calls, answer: str) -> None:
        actions: Mapping[str, injection.Action] = {
            "sent": injection.Delay(seconds=0),
            "lost": injection.Lose(),
            "cut": injection.Truncate(),
            "held": injection.Block(),
        }
        self._add(_rule_name(number, "answer"), "response", actions[answer], self._match(step))

    def watch_start(self, client: str) -> None:
        match = matching.Match(clients=(client,), verbs=("watch", "list"))
        self._add(_start_name(client), "request", injection.Delay(seconds=0), match, count=None)

    def watched(self, client: str) -> set[str]:
        """Return the resources that a client watches since `watch_start`, or lists all the time."""
        seen = [item.facts for item in self._applied(_start_name(client))]
        listed = collections.Counter(facts.resource for facts in seen if facts.verb == "list")
        polled = {resource for resource, count in listed.items() if count >= _POLLS}
        return polled | {facts.resource for facts in seen if facts.verb == "watch"}

    def forget_start(self, client: str) -> None:
        self._remove(_start_name(client))

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
        points: Mapping[str, injection.Point] = {
            "request": "request",
            "answer": "response",
            "event": "event",
        }
        self._add(
            _slow_name(client), points[kind], injection.Delay(seconds=seconds), match, count=None
        )

    def end_slow(self, client: str) -> None:
        self._remove(_slow_name(client))

    def applied(self, number: int, what: str = "") -> Applied | None:
        """Return the first thing that the rule of a step has held or hit; None: nothing yet."""
        return next(iter(self._applied(_rule_name(number, what))), None)

    def let_go(self, number: int, what: str = "") -> None:
        self._remove(_rule_name(number, what))

    def clear(self) -> None:
        for name in list(self._on):
            self._remove(name)

    # ---------------------------------------------------------------------- rules

    def _match(self, step: script_specs.Calls | script_specs.Events) -> matching.Match:
        match = matching.Match(
            clients=(step.client,),
            resource=step.target.resource,
            name=step.target.name,
            namespace=self._namespace_of(step.target),
        )
        if isinstance(step, script_specs.Events):
            return match
        subresource = step.target.subresource
        return msgspec.structs.replace(match, verbs=step.verbs, subresource=subresource)

    def _namespace_of(self, target: script_specs.Target) -> str:
        """Return the run's namespace for objects with a name; lists may be of all namespaces."""
        is_own = target.name and target.resource in script_specs.ScriptObject.resources.values()
        return self._namespace if is_own else ""

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

    def _remove(self, name: str) -> None:
        if name in self._on:
            self._on.discard(name)
            self._session.switch_off(name)

    def _applied(self, name: str) -> Iterator[Applied]:
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


def _rule_name(number: int, what: str = "") -> str:
    return carriers.rule_name(script_specs.JOURNAL, str(number), what)


def _slow_name(client: str) -> str:
    return carriers.rule_name(script_specs.JOURNAL, "slow", client)


def _start_name(client: str) -> str:
    return carriers.rule_name(script_specs.JOURNAL, "start", client)
