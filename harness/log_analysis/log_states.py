"""Follows one scheduler through its log: plans, writes, and the devices that it sees in use."""

import array
import bisect
import collections
from collections.abc import Callable

from harness.log_analysis import double_allocations, log_records, messages, open_gathers
from harness.log_analysis.double_allocations import ClaimLines, DoubleAllocation, StaleGather
from harness.log_analysis.log_records import LogRecord
from harness.log_analysis.messages import Gap, Message

CLAIMS_MAX = 20_000
"""Allocations whose lines are remembered; the least recent are forgotten first."""
UNANSWERED_MAX = 1_000
"""Plans without an answer to their write that are remembered after a later plan of the claim."""
SUSPECTED_MAX = 200
"""Pairs of plans that may overlap; the outcome of the latest ones is awaited."""
ALLOCATED_MAX = 200_000
"""Devices with claims that are counted apart, to count once what two schedulers see."""
NEAR = 1_000
"""Lines after a double allocation within which a sign of missing lines makes it doubtful."""
FOUND_MAX = 1_000
"""Double allocations that are kept with their lines; further ones are only counted."""


class LogState:
    """The log of one scheduler process, as it was read so far."""

    def __init__(self, scheduler: str = "") -> None:
        """`scheduler`: its process id, if known."""
        self.found: list[DoubleAllocation] = []
        self.found_count = 0
        self.stale: list[StaleGather] = []
        self.suspected: dict[tuple[str, frozenset[str]], tuple[ClaimLines, ClaimLines]] = {}
        """Devices planned for two claims; the log does not show the outcome of both plans."""
        self.counts: collections.Counter[Message] = collections.Counter()
        self.versions: set[str] = set()
        self._scheduler = scheduler
        self._claims: collections.OrderedDict[str, ClaimLines] = collections.OrderedDict()
        self._by_pod: dict[str, list[ClaimLines]] = {}
        self._held = double_allocations.ClaimTable()
        self._planned = double_allocations.ClaimTable()
        self._unanswered: collections.OrderedDict[str, ClaimLines] = collections.OrderedDict()
        self.gaps: collections.Counter[Gap] = collections.Counter()
        self._unplanned: set[str] = set()
        """Claims that were stored, whose plan was not seen."""
        self._seen_until = 0
        """Order in which the latest claim was stored whose device was seen in use."""
        self._gathers = open_gathers.OpenGathers(self.stale)
        self._reported: set[tuple[str, frozenset[str]]] = set()
        self._by_holder: dict[tuple[str, str], list[DoubleAllocation]] = {}
        """Device, and the claim that was seen to have it first -> its double allocations."""
        self._losses = array.array("Q")
        """Orders of lines that show that another one is missing."""
        self.allocated: collections.Counter[tuple[str, str]] = collections.Counter()
        """Device and claim of each allocation that was seen -> how often."""
        self._see: dict[Message, Callable[[LogRecord], None]] = {
            Message.STARTED: self._see_start,
            Message.PRE_FILTER: self._see_attempt,
            Message.GATHER_STARTED: self._gathers.see_start,
            Message.LIST_STARTED: self._gathers.see_start,
            Message.GATHER_FINISHED: self._gathers.see_finish,
            Message.LIST_FINISHED: self._gathers.see_finish,
            Message.RESERVED: self._see_reserved,
            Message.RELEASED: self._see_released,
            Message.RESTORED: self._see_released,
            Message.WRITTEN: self._see_written,
            Message.ASSUMED: self._see_assumed,
            Message.REMOVED: self._see_removed,
            Message.OBSERVED: self._see_observed,
            Message.FREED: self._see_freed,
            Message.BINDING: self._see_binding,
            Message.BOUND: self._see_bound,
            **dict.fromkeys(messages.FAILURES, self._see_failure),
        }

    def see(self, record: LogRecord) -> None:
        self.counts[record.message] += 1
        handler = self._see.get(record.message)
        if handler is not None:
            handler(record)

    def end(self) -> None:
        self._gathers.end()
        self._count_missing()
        for found in self.found:
            begin = found.first.reserved or found.second.reserved or found.shown_by
            places = (begin.order, found.shown_by.order + NEAR)
            found.is_whole = len({bisect.bisect(self._losses, place) for place in places}) == 1
        for device, planned in self._planned.items():
            names = list(dict.fromkeys((*self._held.get(device, ()), *planned)))
            for claim in planned if len(names) > 1 else ():
                other = names[names[0] == claim]
                moments = self._moments(other), self._moments(claim)
                if len(self.suspected) < SUSPECTED_MAX:
                    self.suspected[device, frozenset((other, claim))] = moments

    @property
    def shows_devices(self) -> bool:
        return self.counts[Message.OBSERVED] + self.counts[Message.FREED] > 0

    def _leave_out(self, record: LogRecord, gap: Gap) -> None:
        """Count a line that cannot be read as that, and not as what it should say."""
        self.counts[record.message] -= 1
        self.gaps[gap] += 1
        self._losses.append(record.order)

    def _count_missing(self) -> None:
        if not self.shows_devices:
            self.gaps[Gap.UNPLANNED] = len(self._unplanned)
        else:
            unseen = [*map(_stored_order, filter(self._is_unseen, self._claims.values()))]
            self.gaps[Gap.UNSEEN] = len(unseen)
            self._losses = array.array("Q", sorted((*self._losses, *unseen)))

    def _is_unseen(self, moments: ClaimLines) -> bool:
        order = _stored_order(moments)
        if not order or not moments.devices or moments.observed or moments.released:
            return False
        return not self.counts[Message.OBSERVED] or order < self._seen_until

    def _follow_seen(self, moments: ClaimLines) -> None:
        if moments.observed is not None:
            self._seen_until = max(self._seen_until, _stored_order(moments))

    def _see_start(self, record: LogRecord) -> None:
        self.versions |= {record.value("version")} - {""}

    def _see_attempt(self, record: LogRecord) -> None:
        self._gathers.see_attempt(record)
        self._see_end(record)

    def _see_end(self, record: LogRecord) -> None:
        for moments in self._by_pod.get(record.value("pod"), ()):
            moments.ended = moments.ended or record

    def _see_reserved(self, record: LogRecord) -> None:
        devices = log_records.devices(record.value_of_lines("allocation"))
        record.document = b""
        claim = record.value("claim")
        if not claim or devices is None:
            self._leave_out(record, Gap.PLAN)
        if not claim:
            return
        gather = self._gathers.take(record, claim)
        if gather is None:
            self._losses.append(record.order)
        pod = record.value("pod")
        if not pod and gather is not None and gather.attempt is not None:
            pod = gather.attempt.value("pod")
        moments = ClaimLines(
            claim,
            self._scheduler,
            devices or (),
            record.value("uid"),
            pod,
            record.value("node"),
            gather,
        )
        moments.reserved = record
        self._forget_plan(claim)
        self._remember(moments)
        if pod:
            others = [item for item in self._by_pod.get(pod, ()) if item.claim != claim]
            self._by_pod[pod] = [*others, moments]
        self._plan(moments)

    def _plan(self, moments: ClaimLines) -> None:
        for device in moments.devices:
            others = [*self._held.get(device, ()), *self._planned.get(device, ())]
            rivals = [other for other in others if other != moments.claim]
            if rivals and not moments.in_flight and moments.reserved is not None:
                moments.in_flight = open_gathers.of_gather(moments.gather, moments.reserved)
                moments.is_listing_known = bool(moments.in_flight)
            for other in rivals:
                self._suspect(device, other, moments)
            self._planned.add(device, moments.claim)

    def _suspect(self, device: str, other: str, moments: ClaimLines) -> None:
        first = self._claims.get(other)
        if first is None or self.shows_devices:
            return
        self.suspected[device, frozenset((other, moments.claim))] = (first, moments)
        if first.bound is not None:  # whether it was released before, no later line can show
            self._planned.discard(device, other)
        if len(self.suspected) > SUSPECTED_MAX:
            del self.suspected[next(iter(self.suspected))]

    def _see_released(self, record: LogRecord) -> None:
        claim = record.value("claim") or record.value("cacheKey")
        moments = self._claims.get(claim)
        if moments is not None and moments.released is None:
            moments.released = record
            self._forget_plan(claim)

    def _forget_plan(self, claim: str) -> None:
        moments = self._claims.get(claim)
        for device in moments.devices if moments else ():
            self._planned.discard(device, claim)
        if moments is not None and not self.shows_devices:
            for key in [key for key in self.suspected if claim in key[1]]:
                if moments.bound is None:
                    del self.suspected[key]

    def _see_written(self, record: LogRecord) -> None:
        claim = record.value("resourceclaim")
        moments = self._claims.get(claim)
        if moments is None:
            self._note_unplanned(claim, record)
            of_pod = self._by_pod.get(record.value("pod"), [])
            moments = of_pod[0] if len(of_pod) == 1 else None
        if moments is not None and moments.written is None:
            moments.written = record
            self._confirm(moments, record)

    def _note_unplanned(self, claim: str, record: LogRecord) -> None:
        if claim:
            self._losses.append(record.order)
            if len(self._unplanned) < CLAIMS_MAX:
                self._unplanned.add(claim)

    def _see_assumed(self, record: LogRecord) -> None:
        if record.value("description") != "ResourceClaim":
            return
        claim = record.value("cacheKey")
        moments = self._claims.get(claim)
        if moments is None:
            self._note_unplanned(claim, record)
        elif moments.assumed is None:
            if moments.ended or moments.released:
                self._losses.append(record.order)
            moments.assumed = record
            self._follow_seen(moments)
            self._confirm(moments, record)

    def _see_failure(self, record: LogRecord) -> None:
        self._see_end(record)
        claim = log_records.unanswered_claim(record)
        moments = self._claims.get(claim)
        if moments is None or moments.reserved is None or moments.unanswered is not None:
            return
        moments.unanswered = record
        self._unanswered[claim] = moments
        if len(self._unanswered) > UNANSWERED_MAX:
            self._unanswered.popitem(last=False)

    def _see_binding(self, record: LogRecord) -> None:
        for moments in self._by_pod.get(record.value("pod"), ()):
            moments.binding = moments.binding or record

    def _see_bound(self, record: LogRecord) -> None:
        for moments in self._by_pod.pop(record.value("pod"), ()):
            moments.bound = record
            self._confirm(moments, record)

    def _confirm(self, moments: ClaimLines, record: LogRecord) -> None:
        """Find a double allocation without the lines of verbosity 6.

        The first claim's pod is bound after the second claim got the device: so the first claim
        was not released before. Once the log shows devices in use, those lines decide instead.
        """
        if not self.suspected or self.shows_devices:
            return
        for (device, names), (first, second) in list(self.suspected.items()):
            is_stored = second.written or second.assumed or second.bound
            is_shown = is_stored and double_allocations.precedes(second.reserved, first.bound)
            if moments.claim in names and is_shown:
                self._find(device, first, second, record)
                del self.suspected[device, names]

    def _see_removed(self, record: LogRecord) -> None:
        moments = self._moments(record.value("claim"))
        if moments.reserved is None:
            self._note_unplanned(moments.claim, record)
        if moments.removed is not None:
            self._losses.append(record.order)
        else:
            moments.removed = record
            moments.uid = moments.uid or record.value("uid")
        self._gathers.see_removed(moments)

    def _see_observed(self, record: LogRecord) -> None:
        device, claim = record.value("device"), record.value("claim")
        if not device or not claim:
            self._leave_out(record, Gap.DEVICE)
            return
        is_kept = len(self.allocated) < ALLOCATED_MAX
        self.allocated[(device, claim) if is_kept else ("", "")] += 1
        holders = self._held.get(device, ())
        moments = self._moments_of(claim, device)
        if claim in holders:
            self._losses.append(record.order)
        else:
            moments.observed = record
        self._follow_seen(moments)
        self._planned.discard(device, claim)
        for key in [key for key in self.suspected if claim in key[1]]:
            del self.suspected[key]
        if claim not in holders:
            for other in holders:
                self._find(device, self._moments_of(other, device), moments, record)
            self._held.add(device, claim)
        self._gathers.see_observed(device, moments)

    def _see_freed(self, record: LogRecord) -> None:
        device = record.value("device")
        claim = self._name(device, record.value("claim"))
        if not device or not claim:
            self._leave_out(record, Gap.DEVICE)
            return
        for found in self._by_holder.pop((device, claim), ()):
            found.freed = record
        if claim in self._claims and claim not in self._held.get(device, ()):
            self._losses.append(record.order)
        self._held.discard(device, claim)
        for other in self._held.get(device, ()):
            self._moments(other).freed_by = record
        moments = self._claims.get(claim)
        if moments is not None and moments.observed is not None:
            self._forget(claim)

    def _name(self, device: str, claim: str) -> str:
        """Return the name of a claim of a device; a deleted one may be known by its UID only."""
        if claim in self._held.get(device, ()):
            return claim
        holders = (self._moments(name) for name in [*self._held.get(device, ())])
        return next((item.claim for item in holders if item.uid and item.uid == claim), claim)

    def _find(self, device: str, one: ClaimLines, other: ClaimLines, record: LogRecord) -> None:
        key = (device, frozenset((one.claim, other.claim)))
        if key in self._reported:
            return
        first, second = one, other
        if one.reserved and other.reserved and other.reserved.order < one.reserved.order:
            first, second = other, one
        self.found_count += 1
        if len(self.found) < FOUND_MAX:
            self._reported.add(key)
            found = DoubleAllocation(device, first, second, record)
            self.found.append(found)
            self._by_holder.setdefault((device, one.claim), []).append(found)

    def _moments(self, claim: str) -> ClaimLines:
        """Return the lines about a claim; those of one whose plan is unknown begin here."""
        moments = self._claims.get(claim)
        if moments is None:
            moments = ClaimLines(claim, self._scheduler)
            self._remember(moments)
        return moments

    def _moments_of(self, claim: str, device: str) -> ClaimLines:
        """Return the lines about a claim; of an earlier plan, if that had no answer."""
        moments = self._moments(claim)
        if claim in self._unanswered and device not in moments.devices:
            earlier = self._unanswered[claim]
            return earlier if device in earlier.devices else moments
        return moments

    def _remember(self, moments: ClaimLines) -> None:
        self._claims[moments.claim] = moments
        self._claims.move_to_end(moments.claim)
        if len(self._claims) > CLAIMS_MAX:
            self._forget(next(iter(self._claims)))

    def _forget(self, claim: str) -> None:
        moments = self._claims.pop(claim)
        if moments.pod in self._by_pod:
            del self._by_pod[moments.pod]
        for device in moments.devices:
            self._planned.discard(device, claim)


def _stored_order(moments: ClaimLines) -> int:
    """Return the order of the first line that shows that a claim was stored; 0: there is none."""
    stored = (moments.assumed, moments.written, moments.bound)
    return min((record.order for record in stored if record is not None), default=0)
