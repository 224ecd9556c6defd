"""Spots violations while a run goes on, so that a positive control can end early.

Nothing here is a verdict: a run that ends because of something seen here is judged from its
directory like any other.
"""

import msgspec

from harness import clocks
from harness.checks import device_exclusivity, judging
from harness.checks.devices import device_consumption
from harness.checks.holds import live_spotter
from harness.checks.observed import observed_claims
from harness.client import informers
from harness.history import directories, plans
from harness.model.objects import Object
from harness.run.defects import known_defects

LOOK_S = 1.0
"""Seconds between two looks into the record of a run, at least."""
LOOK_SHARE = 4
"""Nothing is looked at for this many times as long as the last look took."""
msgspec.json.Decoder(observed_claims.Allocation)  # describes it before threads convert to it


class DoubleAllocationSpotter(informers.StateHandler):
    """Watches for a device in two claims at once."""

    def __init__(self) -> None:
        self._spotter = live_spotter.Spotter()

    @property
    def found(self) -> str | None:
        return self._spotter.found[0] if self._spotter.found else None

    def on_state(self, obj: Object) -> None:
        self._spotter.note(obj["metadata"]["uid"], obj)

    def on_delete(self, last: Object) -> None:
        self._spotter.note(last["metadata"]["uid"], None)


class RecordSpotter:
    """Asks the judge now and then what it would find in the record so far.

    For violations other than double allocations. The journals of a run are written side by side, so
    what is found must be found again in the next look.
    """

    def __init__(self, directory: directories.RunDirectory) -> None:
        self._directory = directory
        self._due_ns = 0
        self._before: set[tuple[object, ...]] = set()
        self._found: str | None = None

    @property
    def found(self) -> str | None:
        now_ns = clocks.monotonic_ns()
        if self._found is None and now_ns >= self._due_ns:
            self._look()
            ended_ns = clocks.monotonic_ns()
            pause_ns = 0 if self._before else LOOK_SHARE * (ended_ns - now_ns)
            self._due_ns = ended_ns + max(int(LOOK_S * 1e9), pause_ns)
        return self._found

    def _look(self) -> None:
        seen = {
            (
                violation.guarantee,
                tuple(item.uid for item in violation.objects),
                tuple(violation.resource_versions),
            ): violation.summary
            for violation in judging.violations_so_far(self._directory)
            if violation.guarantee != device_exclusivity.CHECK.name
        }
        again = [summary for key, summary in seen.items() if key in self._before]
        self._found = next(iter(again), None)
        self._before = set(seen)


Spotter = DoubleAllocationSpotter | RecordSpotter


def of_run(plan: plans.Plan, directory: directories.RunDirectory) -> list[Spotter]:
    """Return the spotters of a run; none if it does not end at the first violation."""
    if not plan.until_found:
        return []
    if known_defects.show_otherwise(plan.defects):
        return [RecordSpotter(directory)]
    has_amounts = device_consumption.CHECK.applies(plan)
    return [DoubleAllocationSpotter(), *([RecordSpotter(directory)] if has_amounts else [])]
