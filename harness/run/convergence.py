"""Watches a run after its load and faults until everything in it that can go on has gone on.

The same search as in the check of progress, but over live watches. It only ends the run; the
verdict comes from the run directory.
"""

from typing import Any

import msgspec

from harness import clocks, concurrency
from harness.checks.progress import stuck_objects, world_states
from harness.client import informers
from harness.history import plans

QUIET_S = 1.5
"""Seconds without a change of any claim after which the cluster is at rest: what this
watch sees may be late."""
MARGIN_S = 1.0
"""Seconds to wait beyond the plan's `progress_s`: the recorder sees a change later than this watch,
or earlier, and counts from then."""


class Convergence:
    """The states of pods, claims and slices, by which it finds what could still go on."""

    def __init__(self, plan: plans.Plan) -> None:
        self._settings = plan.settings
        self._is_collected = plan.collects_garbage is not False
        self._guard = concurrency.lock("convergence")
        self._state = world_states.WorldState()
        self._changes = 0
        self._known: tuple[int, int] = (-1, 0)
        """The number of changes before the last search, and what it found."""

    def handler(self, plural: str) -> informers.StateHandler:
        return _Events(self, world_states.TYPES[plural])

    def still_s(self, since_ns: int) -> float:
        """Return the seconds since the last progress, or since `since_ns` if that was later."""
        return (clocks.monotonic_ns() - max(since_ns, self._state.moved_ns)) / 1e9

    def is_at_rest(self) -> bool:
        quiet_ns = clocks.monotonic_ns() - self._state.claims_changed_ns
        return quiet_ns >= QUIET_S * 1e9 and self.pending == 0

    @property
    def pending(self) -> int:
        with self._guard:
            if self._known[0] != self._changes:
                pods = stuck_objects.find_pods(self._state, self._settings)
                leaks = stuck_objects.find_claims(self._state).stuck
                going = [item for item in leaks if self._is_collected or not item.is_garbage]
                self._known = self._changes, len(pods.stuck) + len(going) + len(pods.doubts)
            return self._known[1]

    def note(self, obj: world_states.Object, *, gone: bool) -> None:
        with self._guard:
            self._changes += 1
            self._state.note(obj, clocks.monotonic_ns(), is_gone=gone)


class _Events(informers.StateHandler):
    def __init__(self, watch: Convergence, kind: type[world_states.Object]) -> None:
        self._watch, self._kind = watch, kind
        msgspec.json.Decoder(kind)  # describes the type before threads convert to it

    def on_state(self, obj: dict[str, Any]) -> None:
        self._watch.note(msgspec.convert(obj, self._kind), gone=False)

    def on_delete(self, last: dict[str, Any]) -> None:
        self._watch.note(msgspec.convert(last, self._kind), gone=True)
