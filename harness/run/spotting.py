"""Spots violations while a run goes on, so that a positive control can end early.

Nothing here is a verdict: a run that ends because of something seen here is judged from its
directory like any other.
"""

from typing import Protocol

import msgspec

from harness import clocks, concurrency
from harness.checks import device_exclusivity, judging, verdicts
from harness.checks.consumption import declared_devices, device_consumption
from harness.checks.holds import hold_columns, hold_history, live_spotter
from harness.checks.observed import claim_results, observed_claims
from harness.client import apis, informers
from harness.history import directories, plans
from harness.model.objects import Object
from harness.run.defects import known_defects

LOOK_S = 1.0
"""Seconds between two looks into the record of a run, at least."""
LOOK_SHARE = 4
"""Nothing is looked at for this many times as long as the last look took."""
msgspec.json.Decoder(observed_claims.Allocation)  # describes it before threads convert to it


class Spotter(Protocol):
    """Watches for one kind of violation."""

    @property
    def found(self) -> str | None:
        """A description of a violation; None: none was seen."""

    def start(self) -> None:
        """Start watching."""

    def stop(self) -> None:
        """Stop watching."""


class Spotters:
    """The spotters of a run."""

    def __init__(
        self, api: apis.Api, plan: plans.Plan, directory: directories.RunDirectory
    ) -> None:
        self._spotters: list[Spotter]
        if known_defects.show_otherwise(plan.defects):
            self._spotters = [RecordSpotter(directory)]
            return
        self._spotters = [DoubleAllocationSpotter(api, namespace=plan.namespace)]
        if device_consumption.applies(plan):
            self._spotters.append(ConsumptionSpotter(api, namespace=plan.namespace))

    @property
    def found(self) -> str | None:
        """A description of the first violation; None: none was seen."""
        return next((spotter.found for spotter in self._spotters if spotter.found), None)

    def start(self) -> None:
        """Start watching."""
        for spotter in self._spotters:
            spotter.start()

    def stop(self) -> None:
        """Stop watching."""
        for spotter in self._spotters:
            spotter.stop()


class DoubleAllocationSpotter(informers.StateHandler):
    """Watches for a device in two claims at once."""

    def __init__(self, api: apis.Api, *, namespace: str) -> None:
        self._spotter = live_spotter.Spotter()
        self._informer = informers.Informer(
            api, apis.CLAIMS, namespace=namespace, name="double-spotter", handlers=[self]
        )

    @property
    def found(self) -> str | None:
        """A description of the first device that was seen in two claims; None: no such device."""
        return self._spotter.found[0] if self._spotter.found else None

    def start(self) -> None:
        """Start watching."""
        self._informer.start()

    def stop(self) -> None:
        """Stop watching."""
        self._informer.stop()

    def on_state(self, obj: Object) -> None:
        """Note the devices of a claim."""
        self._spotter.note(obj["metadata"]["uid"], obj)

    def on_delete(self, last: Object) -> None:
        """Note that a claim no longer holds devices."""
        self._spotter.note(last["metadata"]["uid"], None)


class ConsumptionSpotter(informers.StateHandler):
    """Watches for shares and counters that are consumed too much, whenever it is asked.

    An excess that comes and goes between two questions is missed; the judge finds it.
    """

    def __init__(self, api: apis.Api, *, namespace: str) -> None:
        self._guard = concurrency.lock("consumption-spotter")
        self._holds: dict[str, list[hold_history.Hold]] = {}
        """Keyed by the uid of the claim."""
        self._declared = declared_devices.DeclaredDevices()
        self._has_changed = False
        self._found: str | None = None
        self._slices = informers.Informer(
            api, apis.SLICES, name="consumption-spotter-slices", handlers=[_Slices(self)]
        )
        self._claims = informers.Informer(
            api, apis.CLAIMS, namespace=namespace, name="consumption-spotter", handlers=[self]
        )

    @property
    def found(self) -> str | None:
        """A description of the first excess; None: none was seen."""
        with self._guard:
            if self._has_changed and self._found is None:
                self._has_changed = False
                self._found = self._excess()
            return self._found

    def start(self) -> None:
        """Start watching."""
        self._slices.start()
        self._claims.start()

    def stop(self) -> None:
        """Stop watching."""
        self._claims.stop()
        self._slices.stop()

    def on_state(self, obj: Object) -> None:
        """Note the devices of a claim."""
        self._note(obj["metadata"]["uid"], _holds_of(obj))

    def on_delete(self, last: Object) -> None:
        """Note that a claim no longer holds devices."""
        self._note(last["metadata"]["uid"], [])

    def declare(self, piece: Object) -> None:
        """Note what a slice declares."""
        with self._guard:
            self._declared.note(piece)

    def _note(self, uid: str, holds: list[hold_history.Hold]) -> None:
        with self._guard:
            self._holds[uid] = holds
            self._has_changed = True

    def _excess(self) -> str | None:
        """Return a summary of what is consumed too much now, None for nothing."""
        now = hold_history.HoldHistory()
        now.holds = hold_columns.of(hold for holds in self._holds.values() for hold in holds)
        violations = device_consumption.check(now, self._declared).violations
        return violations[0].summary if violations else None


class RecordSpotter:
    """Asks the judge now and then what it would find in the record so far.

    For known defects that show otherwise than by double allocations. The journals of a run are
    written side by side, so what is found must be found again in the next look.
    """

    def __init__(self, directory: directories.RunDirectory) -> None:
        self._directory = directory
        self._due_ns: int | None = None
        self._before: set[tuple[object, ...]] = set()
        """The violations of the last look."""
        self._found: str | None = None

    @property
    def found(self) -> str | None:
        """A description of the first violation that two looks found; None: there is none yet."""
        now_ns = clocks.monotonic_ns()
        if self._found is None and self._due_ns is not None and now_ns >= self._due_ns:
            self._look()
            self._due_ns = clocks.monotonic_ns() + self._pause_ns(began_ns=now_ns)
        return self._found

    def start(self) -> None:
        """Begin to look."""
        self._due_ns = clocks.monotonic_ns()

    def stop(self) -> None:
        """Look no more."""
        self._due_ns = None

    def _pause_ns(self, *, began_ns: int) -> int:
        """Return the time until the next look; what was found is soon looked at again."""
        took_ns = clocks.monotonic_ns() - began_ns
        return max(int(LOOK_S * 1e9), 0 if self._before else LOOK_SHARE * took_ns)

    def _look(self) -> None:
        seen = {
            _identity(violation): violation.summary
            for violation in judging.violations_so_far(self._directory)
            if violation.guarantee != device_exclusivity.CHECK.name
        }
        again = [summary for key, summary in seen.items() if key in self._before]
        self._found = next(iter(again), None)
        self._before = set(seen)


def _identity(violation: verdicts.Violation) -> tuple[object, ...]:
    """Return what a violation has in common with the same one in a later look."""
    objects = tuple(item.uid for item in violation.objects)
    return violation.guarantee, objects, tuple(violation.resource_versions)


class _Slices(informers.StateHandler):
    def __init__(self, spotter: ConsumptionSpotter) -> None:
        self._spotter = spotter

    def on_state(self, obj: Object) -> None:
        self._spotter.declare(obj)

    def on_delete(self, last: Object) -> None:
        del last


def _holds_of(claim: Object) -> list[hold_history.Hold]:
    meta = claim["metadata"]
    allocation = claim.get("status", {}).get("allocation")
    known = None if allocation is None else msgspec.convert(allocation, observed_claims.Allocation)
    asked = msgspec.convert(claim.get("spec") or {}, observed_claims.ClaimSpec)
    return [
        hold_history.Hold(
            device=device,
            exclusive=how.exclusive,
            shared=how.shared,
            shares=how.shares,
            uid=meta["uid"],
            namespace=meta["namespace"],
            name=meta["name"],
            from_rv=int(meta["resourceVersion"]),
            from_ts_ns=0,
        )
        for device, how in claim_results.held(known, asked.devices).items()
    ]
