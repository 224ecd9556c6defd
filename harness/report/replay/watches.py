"""How far the schedulers' watches of claims were at a time.

Our scheduler records each event that it receives, but no version of what it lists: from then on
nothing is known until it receives another one. For others, our API server logs what it has sent.
"""

import bisect
from collections.abc import Iterable, Iterator, Mapping

from harness.checks import verdicts
from harness.checks.witness import audit_history
from harness.faults import api_calls
from harness.history import records

SCHEDULER = "scheduler"
"""Name of the first scheduler, and prefix of the names of others."""
_INFORMER = "informer-resourceclaims"
_NEVER = 2**62


def is_scheduler(process: str) -> bool:
    return process.startswith(SCHEDULER)


class Received:
    """The versions of claims that one process has received, or was sent, in order; 0: a list."""

    def __init__(self) -> None:
        self._times, self._newest = list[int](), list[int]()

    def note(self, ts_ns: int, version: int) -> None:
        self._times.append(ts_ns)
        self._newest.append(version and max(version, self._newest[-1] if self._newest else 0))

    def add(self, step: records.Step) -> None:
        """Note a step, if it is the receipt of an event of a claim, or a list of claims."""
        if step.fields.get("informer") != _INFORMER:
            return
        version = str(step.fields.get("version"))
        if step.name == "informer.listed":
            self.note(step.ts_ns, 0)
        elif step.name == "informer.event.received" and version.isdecimal() and len(version) < 19:
            self.note(step.ts_ns, int(version))

    def __bool__(self) -> bool:
        return bool(self._times)

    def at(self, ts_ns: int) -> int:
        """Return the newest version that was received by then; 0: it is not known."""
        count = bisect.bisect_right(self._times, ts_ns)
        return self._newest[count - 1] if count else 0

    def time_of(self, version: int) -> int | None:
        """Return when a version, or a later one, was received first; None: never."""
        found = zip(self._times, self._newest, strict=True)
        return next((ts_ns for ts_ns, newest in found if newest >= version), None)


def sent_to(
    reads: audit_history.ProgramReads, found: Iterable[verdicts.DoubleAllocation]
) -> dict[str, Received]:
    """Return what the programs that have written the allocations were sent, by their processes."""
    sent: dict[str, Received] = {}
    for holder in (holder for violation in found for holder in violation.holders):
        write = reads.writes.get(holder.held_from_rv)
        if write is not None:
            received = Received()
            for item in reads.before(write.program, _NEVER, namespace=holder.namespace):
                if not item.is_partial:
                    received.note(item.ts_ns, item.version)
            sent[api_calls.client_of(write.program[2]) or SCHEDULER] = received
    return sent


class Watches:
    """The watches of all schedulers of a run."""

    def __init__(self, received: Mapping[str, Received], sent: Mapping[str, Received]) -> None:
        both = sorted({**received, **sent}.items())
        self.of_processes = {name: one for name, one in both if one and is_scheduler(name)}
        """Those of the schedulers of which anything is known."""
        self.are_sent = any(sent.values())
        """They are versions that were sent, which may be received later."""

    def arrivals(self, version: int) -> Iterator[tuple[str, int]]:
        for process, received in self.of_processes.items():
            if (ts_ns := received.time_of(version)) is not None:
                yield process, ts_ns
