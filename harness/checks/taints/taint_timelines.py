"""When devices had taints, by the versions of slices and DeviceTaintRules, and by their times.

A device is clear as long as some slice lists it without a taint that keeps it from being allocated;
a rule that selects it makes it tainted, whatever the slices say. A NoExecute taint lasts as long as
a slice of the newest generation of the pool has it for the device, or a rule that selects the
device; it begins again when its time changes.
"""

import bisect
import collections
import dataclasses
import math
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from harness.checks.observed import folders, observations, observed_cluster, observed_slices
from harness.checks.taints import attempt_views
from harness.model import devices

NO_EXECUTE = "NoExecute"
_Changes = list[tuple[int, int]]
"""Time and version of each change of a resource, in order."""


Tainting: TypeAlias = tuple[str, observed_slices.Taint]
"""A device, and a taint of it."""


@dataclasses.dataclass(slots=True)
class Span:
    """A span of resourceVersions, and of the recorder's nanoseconds; its end is exclusive."""

    since: int
    since_ns: int
    until: float = math.inf
    until_ns: float = math.inf

    def end(self, seen: observations.SeenAny) -> None:
        self.until, self.until_ns = seen.version, seen.ts_ns


class TaintTimelines(folders.Folder):
    """Slices and rules in all their versions."""

    def __init__(self) -> None:
        self.end_ns = 0
        """Time of the last observation."""
        self._clear = collections.defaultdict[str, list[Span]](list)
        """Versions of slices that list a device without a blocking taint, by the device."""
        self._listed_clear: dict[str, list[Span]] = {}
        """The spans of the newest version of each slice, by its uid."""
        self._blocked: set[str] = set()
        """The devices that a slice has listed with a blocking taint."""
        self._tainted = collections.defaultdict[str, list[tuple[observed_slices.Taint, Span]]](list)
        """The NoExecute taints of slices, by device."""
        self._listed_taints = collections.defaultdict[str, dict[Tainting, Span]](dict)
        """Those of the newest version of each slice, by its uid."""
        self._generations = collections.defaultdict[tuple[str, str], dict[str, int]](dict)
        """Driver and name of a pool -> the generation of each of its slices, by uid."""
        self._rules: list[tuple[observed_cluster.TaintRuleSpec, Span]] = []
        """Each rule as long as its spec stayed the same."""
        self._ruling: dict[str, tuple[observed_cluster.TaintRuleSpec, Span]] = {}
        """The newest version of each rule, by its uid."""
        self._changes: dict[str, _Changes] = {observations.SLICES: [], observations.TAINT_RULES: []}

    def view_at(self, ts_ns: int) -> attempt_views.View:
        """Return the versions of slices and rules that were the newest at a time."""
        return attempt_views.View(*(_newest(item, ts_ns) for item in self._changes.values()))

    @property
    def has_taints(self) -> bool:
        """True if a slice or a rule ever had a taint that keeps devices from being allocated."""
        return bool(self._blocked) or any(spec.taint.is_blocking for spec, _ in self._rules)

    def was_tainted(self, device: str) -> bool:
        return device in self._blocked or any(self._blocking_rules(device))

    def could_be_clear(self, device: str, *, slices: int, rules: int, until: int) -> bool:
        """Return whether a scheduler may have seen the device without a blocking taint.

        It has seen some version of the slices from `slices` on, and some of the rules from `rules`
        on, both before `until`.
        """
        listed = self._clear.get(device, ())
        if not any(span.since < until and span.until > slices for span in listed):
            return False
        reached: float = rules
        for span in sorted(self._blocking_rules(device), key=lambda item: item.since):
            if span.since > reached:
                break
            reached = max(reached, min(span.until, until))
        return reached < until

    def taints_of(self, device: str) -> Iterator[tuple[observed_slices.Taint, Span]]:
        """Yield the NoExecute taints of a device."""
        yield from self._tainted.get(device, ())
        for spec, span in self._rules_of(device):
            if spec.taint.effect == NO_EXECUTE:
                yield spec.taint, span

    def _blocking_rules(self, device: str) -> Iterator[Span]:
        return (span for spec, span in self._rules_of(device) if spec.taint.is_blocking)

    def _rules_of(self, device: str) -> Iterator[tuple[observed_cluster.TaintRuleSpec, Span]]:
        parsed = devices.parse(device)
        for spec, span in self._rules:
            if spec.device_selector is not None and spec.device_selector.selects(parsed):
                yield spec, span

    # ------------------------------------------------------------------- observations

    def end(self, ts_ns: int) -> None:
        """Note the end of the records."""
        self.end_ns = ts_ns

    def see_slice(self, seen: observations.SeenSlice) -> None:
        uid, spec = seen.object.metadata.uid, seen.object.spec
        self._changes[observations.SLICES].append((seen.ts_ns, seen.version))
        listed = {} if seen.is_gone else _taints_of(spec)
        for span in self._listed_clear.pop(uid, ()):
            span.end(seen)
        opened = self._listed_clear[uid] = []
        for device, taints in listed.items():
            if any(taint.is_blocking for taint in taints):
                self._blocked.add(device)
            else:
                opened.append(Span(seen.version, seen.ts_ns))
                self._clear[device].append(opened[-1])
        self._note_generation(seen)
        evicting = {
            (device, taint)
            for device, of_device in listed.items()
            for taint in of_device
            if taint.effect == NO_EXECUTE
        }
        of_pool = self._generations[spec.driver, spec.pool.name]
        is_newest = of_pool.get(uid) == max(of_pool.values(), default=0)
        self._list(uid, evicting if is_newest else (), seen)

    def _note_generation(self, seen: observations.SeenSlice) -> None:
        """End the taints of older generations of a pool."""
        uid, spec = seen.object.metadata.uid, seen.object.spec
        of_pool = self._generations[spec.driver, spec.pool.name]
        of_pool.pop(uid, None)
        if not seen.is_gone:
            of_pool[uid] = spec.pool.generation
        newest = max(of_pool.values(), default=0)
        for other, generation in of_pool.items():
            if other != uid and generation < newest:
                self._list(other, (), seen)

    def _list(self, uid: str, taints: Iterable[Tainting], seen: observations.SeenSlice) -> None:
        """Note the taints of a slice; those that it had before go on."""
        known, listed = self._listed_taints[uid], set(taints)
        for taint in known.keys() - listed:
            known.pop(taint).end(seen)
        for taint in listed - known.keys():
            known[taint] = Span(seen.version, seen.ts_ns)
            self._tainted[taint[0]].append((taint[1], known[taint]))

    def see_taint_rule(self, seen: observations.SeenTaintRule) -> None:
        """Note a version of a rule; a change of its status changes nothing."""
        uid, spec = seen.object.metadata.uid, seen.object.spec
        self._changes[observations.TAINT_RULES].append((seen.ts_ns, seen.version))
        known = self._ruling.get(uid)
        if known is not None and (seen.is_gone or known[0] != spec):
            known[1].end(seen)
            del self._ruling[uid]
        if not seen.is_gone and uid not in self._ruling:
            self._ruling[uid] = spec, Span(seen.version, seen.ts_ns)
            self._rules.append(self._ruling[uid])


def _taints_of(spec: observed_slices.SliceSpec) -> dict[str, list[observed_slices.Taint]]:
    """Return the taints of each device that a slice lists."""
    return {
        str(devices.DeviceID(spec.driver, spec.pool.name, device.name)): device.taints or []
        for device in spec.devices or ()
    }


def _newest(changes: _Changes, ts_ns: int) -> int:
    """Return the newest version up to a time; all may have been seen if there is none."""
    count = bisect.bisect_right(changes, ts_ns, key=lambda item: item[0])
    return changes[count - 1][1] if count else attempt_views.UNKNOWN
