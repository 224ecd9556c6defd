"""A controller that makes allocated devices ready, by conditions in the claims' status.

It acts as the part of a driver that attaches devices to nodes by a fabric (KEP-5007). For each
allocation it decides once whether it succeeds, fails, or is never heard of again, and reports that
after a delay.
"""

import functools
import heapq
import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

from harness import clocks, concurrency, seeds
from harness.client import apis, informers, transports
from harness.model.objects import Object
from harness.scenario import driver_specs

_ATTACHED = ("Attached", "attached to the node")
_FAILED = ("NotAttached", "the fabric could not attach the device")
_RETRY_S = 0.02
"""Wait after a conflict, or another failure of a write, in seconds."""


class _Report(NamedTuple):
    """The outcome of one allocation, which is to be reported of its devices."""

    key: str
    """`namespace/name` of the claim."""
    allocation: str
    """See `_allocation_of`."""
    succeeds: bool


class DeviceAttachments(concurrency.WorkerThread, informers.StateHandler):
    """Reports the conditions of allocated devices; an event handler of an informer of claims."""

    def __init__(
        self,
        api: apis.Api,
        spec: driver_specs.ConditionsSpec,
        *,
        seed: int = 0,
        now: Callable[[], str] = clocks.wall_text,
    ) -> None:
        super().__init__("device-attachments")
        self._api, self._spec, self._seeds, self._now = api, spec, seeds.Seeds(seed), now
        self._claims: dict[str, Object] = {}
        """The newest version of each claim that had a device with conditions, by key."""
        self._due: list[tuple[float, int, _Report]] = []
        """A heap: time by the monotonic clock in seconds, order, what to report."""
        self._order = itertools.count()

    # ------------------------------------------------------------ the informer's side

    def on_state(self, obj: Object) -> None:
        allocation, key = _allocation_of(obj), informers.key_of(obj)
        if not allocation and key not in self._claims:
            return
        with self._changed:
            known = self._claims.get(key)
            self._claims[key] = obj
            if allocation and (known is None or _allocation_of(known) != allocation):
                self._decide(key, allocation)

    def on_delete(self, last: Object) -> None:
        with self._changed:
            self._claims.pop(informers.key_of(last), None)

    def _decide(self, key: str, allocation: str) -> None:
        """Draw the fate of an allocation; every process of the driver draws the same."""
        dice, spec = self._seeds.stream("driver", "conditions", allocation), self._spec
        drawn = dice.random()
        if drawn >= spec.silence_probability:
            succeeds = drawn >= spec.silence_probability + spec.failure_probability
            report = _Report(key, allocation, succeeds)
            self._put(report, dice.uniform(spec.delay_s, spec.delay_s_max))

    def _put(self, report: _Report, delay_s: float) -> None:
        at_s = concurrency.monotonic_s() + delay_s
        heapq.heappush(self._due, (at_s, next(self._order), report))
        self._changed.notify_all()

    # ------------------------------------------------------------------ its thread

    def _take(self) -> concurrency.Task | None:
        if self._due and self._due[0][0] <= concurrency.monotonic_s():
            return functools.partial(self._report, heapq.heappop(self._due)[2])
        return None

    def _left_s(self) -> float | None:
        return self._due[0][0] - concurrency.monotonic_s() if self._due else None

    def _report(self, report: _Report) -> None:
        with self._changed:
            claim = self._claims.get(report.key)
        if claim is None or _allocation_of(claim) != report.allocation:
            return
        status = {**claim["status"], "devices": self._devices(claim, succeeds=report.succeeds)}
        try:
            self._api.update_status(apis.CLAIMS, {**claim, "status": status})
        except (apis.ApiError, transports.TransportError):
            with self._changed:
                self._put(report, _RETRY_S)

    def _devices(self, claim: Object, *, succeeds: bool) -> list[Object]:
        reported = [
            _status_of(item, succeeds=succeeds, now=self._now()) for item in _awaited(claim)
        ]
        known = [_id_of(item) for item in reported]
        others = claim["status"].get("devices") or ()
        return [*(item for item in others if _id_of(item) not in known), *reported]


def _awaited(claim: Object) -> Iterator[Object]:
    allocation = claim.get("status", {}).get("allocation") or {}
    for result in allocation.get("devices", {}).get("results") or ():
        if result.get("bindingConditions"):
            yield result


def _allocation_of(claim: Object) -> str:
    """Return what identifies a claim's allocation; empty: no device has to be attached."""
    devices = [_id_of(result) for result in _awaited(claim)]
    if not devices:
        return ""
    since = claim["status"]["allocation"].get("allocationTimestamp", "")
    return f"{claim['metadata']['uid']} {since} {devices}"


_KEYS = ("driver", "pool", "device", "shareID")


def _id_of(item: Object) -> list[str | None]:
    return [item.get(key) for key in _KEYS]


def _status_of(result: Object, *, succeeds: bool, now: str) -> Object:
    names, (reason, message) = result["bindingConditions"], _ATTACHED
    if not succeeds:
        names, (reason, message) = result.get("bindingFailureConditions") or (), _FAILED
    about = {"status": "True", "reason": reason, "message": message, "lastTransitionTime": now}
    own = {key: result[key] for key in _KEYS if key in result}
    return {**own, "conditions": [{"type": name, **about} for name in names]}
