"""Binding conditions: devices that a pod may use only when a driver has made them ready.

After isPodReadyForBinding, isClaimReadyForBinding and isClaimTimeout in
pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go (KEP-5007). An allocated device
may name conditions that its driver, or what attaches devices to nodes, sets in the claim's
`status.devices`. PreBind waits until all are true. If one that means failure is true, or time is
up, the pod is retried, and its claim counts as unavailable on every node until PostFilter has
deallocated it.

kube-scheduler looks every five seconds; here each event of the claim is looked at. A claim that has
lost its allocation meanwhile ends the wait.
"""

import contextlib
import datetime
from collections.abc import Callable, Iterable, Iterator

from harness import concurrency
from harness.client import informers
from harness.model.objects import Object
from harness.subject.objects import claims
from harness.subject.plugin import scheduling_attempts

TIMEOUT_S = 600.0
"""Default time limit, in seconds, from the allocation of a claim; that of kube-scheduler."""


def has_conditions(claim: Object) -> bool:
    return any(True for _ in _awaited(claim))


def why_failed(claim: Object) -> str | None:
    """Return why a device cannot be made ready, in kube-scheduler's words; None: it may be."""
    for result in _awaited(claim):
        for name in result.get("bindingFailureConditions") or ():
            condition = _conditions(claim, result).get(name, {})
            if condition.get("status") == "True":
                return (
                    f"claim {claim['metadata']['name']} binding failed: "
                    f'reason={condition.get("reason")}, message="{condition.get("message")}"'
                )
    return None


def is_ready(claim: Object) -> bool:
    """Return whether all binding conditions of its devices are true, also if there are none."""
    return all(
        _conditions(claim, result).get(name, {}).get("status") == "True"
        for result in _awaited(claim)
        for name in result["bindingConditions"]
    )


def left_s(claim: Object, timeout_s: float) -> float:
    """Return the seconds until the time of an allocated claim is up, less than 0 once it is."""
    allocation = claims.allocation_of(claim) or {}
    if "allocationTimestamp" not in allocation:
        return timeout_s
    allocated = datetime.datetime.fromisoformat(allocation["allocationTimestamp"])
    return allocated.timestamp() + timeout_s - concurrency.wall_s()


def _awaited(claim: Object) -> Iterator[Object]:
    allocation = claims.allocation_of(claim) or {}
    for result in allocation.get("devices", {}).get("results") or ():
        if result.get("bindingConditions"):
            yield result


def _conditions(claim: Object, result: Object) -> dict[str, Object]:
    device = [result["driver"], result["pool"], result["device"]]
    for reported in claim.get("status", {}).get("devices") or ():
        if [reported["driver"], reported["pool"], reported["device"]] == device:
            return {item["type"]: item for item in reported.get("conditions") or ()}
    return {}


class BindingConditions(informers.StateHandler):
    """Waits for the conditions of allocated devices; an event handler of the claims' informer."""

    def __init__(
        self,
        claim_of: Callable[[str], Object | None],
        *,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        """`claim_of(key)` returns the newest known version of a claim; None: it is unknown."""
        self._claim_of, self._given_s = claim_of, timeout_s
        self._guard = concurrency.lock("binding-conditions")
        self._waiters: dict[str, list[concurrency.Event]] = {}
        """Keyed by `namespace/name` of the claim."""
        self._is_stopped = False

    # ------------------------------------------------------- the scheduling thread

    def _timeout_s(self) -> float:
        return self._given_s

    def have_failed(self, claim: Object) -> bool:
        """Return whether an allocated claim is to be given up: it has failed, or its time is up."""
        if not has_conditions(claim):
            return False
        is_late = not is_ready(claim) and left_s(claim, self._timeout_s()) <= 0
        return is_late or why_failed(claim) is not None

    # --------------------------------------------------------- the binding threads

    def wait(self, attempt: scheduling_attempts.Attempt) -> None:
        """Return when every device is ready. Raises BindingError if one cannot be."""
        awaited = [claim for claim in attempt.claims if has_conditions(claim)]
        if not awaited:
            return
        deadline_s = concurrency.monotonic_s() + self._timeout_s()
        while True:
            with self._woken_by(awaited) as changed:
                current = [self._current(claim) for claim in awaited]
                awaited_still = [claim for claim in current if not self._is_ready(claim)]
                if not awaited_still:
                    return
                left = [left_s(claim, self._timeout_s()) for claim in awaited_still]
                wait_s = min(*left, deadline_s - concurrency.monotonic_s())
                if wait_s <= 0:
                    raise scheduling_attempts.BindingError("device binding timeout")
                changed.wait(wait_s)

    def _current(self, claim: Object) -> Object:
        """Return the newest version of a claim; raise BindingError if it is of no use any more."""
        if self._is_stopped:
            raise scheduling_attempts.BindingError("the scheduler stops")
        key = informers.key_of(claim)
        current = self._claim_of(key)
        if current is None or claims.uid_of(current) != claims.uid_of(claim):
            raise scheduling_attempts.BindingError(f"{key} got deleted in the meantime")
        if not claims.allocation_of(current):
            self._on_lost_allocation(key)
        if reason := why_failed(current):
            raise scheduling_attempts.BindingError(reason)
        return current

    def _on_lost_allocation(self, key: str) -> None:
        """End the wait for a claim that is not allocated any more. Raises BindingError."""
        raise scheduling_attempts.BindingError(f"{key} got deallocated elsewhere in the meantime")

    def _is_ready(self, claim: Object) -> bool:
        return is_ready(claim)

    @contextlib.contextmanager
    def _woken_by(self, awaited: Iterable[Object]) -> Iterator[concurrency.Event]:
        """Provide what is set at the next event of one of the claims, and by `stop`.

        It is known to the handlers before the claims are looked at, so that no event is missed.
        """
        changed = concurrency.Event("binding-conditions.changed")
        keys = [informers.key_of(claim) for claim in awaited]
        with self._guard:
            for key in keys:
                self._waiters.setdefault(key, []).append(changed)
        try:
            yield changed
        finally:
            with self._guard:
                for key in keys:
                    self._waiters[key].remove(changed)
                    if not self._waiters[key]:
                        del self._waiters[key]

    def stop(self) -> None:
        self._is_stopped = True
        with self._guard:
            waiters = [changed for listed in self._waiters.values() for changed in listed]
        for changed in waiters:
            changed.set()

    # ------------------------------------------------------------ the informer's side

    def on_state(self, obj: Object) -> None:
        self._wake(obj)

    def on_delete(self, last: Object) -> None:
        self._wake(last)

    def _wake(self, claim: Object) -> None:
        if not self._waiters:  # nearly always: most devices have no conditions
            return
        with self._guard:
            waiters = list(self._waiters.get(informers.key_of(claim), ()))
        for changed in waiters:
            changed.set()
