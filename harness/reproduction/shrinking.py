"""Looks for the smallest scenario that still fails: greedily, one size or fault after another.

First come guesses (see `leaps`): most double allocations need two claims that want one device at
different moments. A scenario that needs many objects at the same time does not fail then, and is
shrunk size by size: the least value is tried first, then values halfway (geometrically) between one
that does not fail and the present one. Passes over all sizes are repeated until one changes
nothing. Candidates that were decided are not tried again.
"""

import dataclasses
import math
import pathlib
from collections.abc import Callable, Iterator

from harness import errors, rates
from harness.reproduction import smaller_scenarios
from harness.scenario import specs, subject_specs, traffic_specs

INTERVAL_S = 0.2
"""Seconds between two claims: longer than a status write takes, shorter than most faults last."""
CLAIMS = (2, 3)
"""Numbers of claims that are tried."""


def leaps(scenario: specs.Scenario) -> Iterator[tuple[str, specs.Scenario]]:
    """Yield (change, scenario): few claims, created one by one while the scheduler runs.

    Retries have the default backoff, so that those of one pod do not hide another one. Scenarios
    with further kinds of pools or claims have no such guess.
    """
    if not scenario.pools.is_plain or scenario.claims or not scenario.claim.is_plain:
        return
    plain = subject_specs.SubjectSpec()
    calm = {
        key: getattr(plain, key)
        for key in ("start", "backoff_initial_s", "backoff_max_s", "pauses")
    }
    pools = {"nodes": 1, "devices_per_node": scenario.claim.devices}
    for claims in CLAIMS:
        candidate = smaller_scenarios.changed(
            scenario,
            pools=scenario.pools.model_copy(update=pools),
            subject=scenario.subject.model_copy(update=calm),
            traffic=traffic_specs.AllAtOnceTraffic(
                profile="all-at-once",
                processes=1,
                users=1,
                pods=claims,
                overcommit=True,
                interval_s=INTERVAL_S,
            ),
            load=specs.LoadSpec(allocations_min=1, pods_running_min=1),
        )
        if candidate != scenario:
            yield f"{claims} claims, {INTERVAL_S:g} s apart", candidate


RUNS_MAX = 9
"""Default limit of runs for one scenario."""
PASSES_MAX = 4
TRIES_PER_AXIS = 4
"""Values that are tried of one size in one pass."""
_CLOSE = 1.3
"""Ratio of two sizes between which no further one is tried."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One run of a scenario."""

    failed: bool
    """True if it broke the same guarantee as the original run."""
    reason: str
    """The verdict with its reason, or the error of the run."""
    directory: pathlib.Path | None = None
    """The run directory of a failed run."""


Make = Callable[[specs.Scenario], Attempt]
"""Runs a scenario once.

Raises UsageError if that scenario cannot be run, and HarnessError if no run is possible.
"""


@dataclasses.dataclass(slots=True)
class Tally:
    """A scenario with its runs so far."""

    scenario: specs.Scenario
    failed: int = 0
    runs: int = 0
    directory: pathlib.Path | None = None
    """The run directory of the last failed run."""

    @property
    def rate(self) -> rates.Rate:
        return rates.Rate(self.failed, self.runs)

    def count(self, attempt: Attempt) -> None:
        self.runs += 1
        if attempt.failed:
            self.failed += 1
            self.directory = attempt.directory


def decide(failed: int, runs: int, *, runs_max: int = RUNS_MAX) -> bool | None:
    """Return True to accept a scenario, False to reject it; None: another run is needed.

    Three more failures than other runs accept it, two fewer reject it, and at the limit of runs the
    majority decides: it keeps nine of ten scenarios that fail in three of four runs, and one of
    seven that fail in a third of them.
    """
    lead = 2 * failed - runs
    if lead >= 3 or lead <= -2:
        return lead > 0
    return None if runs < runs_max else lead >= 0


def silent(text: str) -> None:
    del text


class Search:
    """A search for the smallest scenario that still fails."""

    def __init__(
        self,
        original: Tally,
        make: Make,
        *,
        is_over: Callable[[], bool],
        runs_max: int = RUNS_MAX,
        note: Callable[[str], None] = silent,
    ) -> None:
        """`original` has failed at least once; `note` shows a line of progress.

        No candidate is begun when `is_over()`, and none has more than `runs_max` runs.
        """
        self.trail = [original]
        """The original and every accepted scenario, each smaller than the one before."""
        self._make, self._note = make, note
        self._is_over, self._runs_max = is_over, runs_max
        self._decided = {_key(original.scenario)}

    @property
    def best(self) -> Tally:
        return self.trail[-1]

    def run(self) -> None:
        """Shrink until a pass changes nothing or the time is used up."""
        for change, candidate in leaps(self.best.scenario):
            if self._try(change, candidate):
                break
        for _ in range(PASSES_MAX):
            before = len(self.trail)
            self._pass()
            if len(self.trail) == before or self._is_over():
                return

    def _pass(self) -> None:
        for axes in (
            smaller_scenarios.axes,
            smaller_scenarios.without,
            smaller_scenarios.part_axes,
            smaller_scenarios.plainer,
        ):
            tried: set[str] = set()
            while axis := next(
                (one for one in axes(self.best.scenario) if one.name not in tried), None
            ):
                tried.add(axis.name)
                if axis.value > axis.least:
                    self._shrink(axis)

    def _shrink(self, axis: smaller_scenarios.Axis) -> None:
        """Make one size smaller; of seconds, keep the first that fails.

        The shortest time that fails is one of this machine, and would not fail on another one.
        """
        low, high = axis.least, axis.value
        size = low
        for _ in range(TRIES_PER_AXIS):
            change = f"{axis.name} {size:g}" if size else f"without {axis.name}"
            if self._try(change, axis.to(size)):
                high = size
                if size == axis.least or not axis.is_whole:
                    return
            else:
                low = size
            middle = math.sqrt(low * high)
            size = math.floor(middle) if axis.is_whole else float(f"{middle:.2g}")
            if not low < size < high or high < _CLOSE * low:
                return

    def _try(self, change: str, candidate: specs.Scenario | None) -> bool:
        if candidate is None or self._is_over() or _key(candidate) in self._decided:
            return False
        tally = Tally(candidate)
        is_kept = self._decide(tally)
        self._decided.add(_key(candidate))
        if is_kept:
            self.trail.append(tally)
        word = "kept" if is_kept else "not kept"
        self._note(f"{change}: {word} ({tally.failed} of {tally.runs} runs failed)")
        return is_kept

    def _decide(self, tally: Tally) -> bool:
        """Run a scenario until it is accepted or rejected; one that cannot be run is rejected."""
        decision = None
        while decision is None:
            try:
                attempt = self._make(tally.scenario)
            except errors.UsageError as error:
                self._note(f"cannot be run: {error}")
                return False
            tally.count(attempt)
            if not attempt.failed:
                self._note(f"  did not fail; {attempt.reason}")
            decision = decide(tally.failed, tally.runs, runs_max=self._runs_max)
        return decision


def _key(scenario: specs.Scenario) -> str:
    return scenario.model_dump_json()
