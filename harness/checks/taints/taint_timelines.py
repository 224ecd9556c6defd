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
from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from harness.checks.observed import folders, observations, observed_cluster, observed_slices
from harness.checks.taints import attempt_views
from harness.model import devices

NO_EXECUTE = "NoExecute"
Item = TypeVar("Item", bound=Hashable)
_Changes = list[tuple[int, int]]
"""Time and version of each change of a resource, in order."""


@dataclasses.dataclass(slots=True)
class Span:
    """A span of resourceVersions, and of the recorder's nanoseconds; its end is exclusive."""

    since: int
    since_ns: int
    until: float = math.inf
    until_ns: float = math.inf

    def end(self, seen: observations.SeenAny) -> None:
        self.until, self.until_ns = seen.version, seen.ts_ns


class Listings(Generic[Item]):
    """The spans in which something was listed, by sources whose lists change."""

    def __init__(self) -> None:
        self._spans = collections.defaultdict[Item, list[Span]](list)
        self._open = collections.defaultdict[str, dict[Item, Span]](dict)
        """Source -> what it lists -> the last span, which has not ended."""

    def __iter__(self) -> Iterator[tuple[Item, list[Span]]]:
        return iter(self._spans.items())

    def of(self, item: Item) -> list[Span]:
        """Return when something was listed: by each source in order."""
        return self._spans.get(item, [])

    def see(self, source: str, listed: Iterable[Item], seen: observations.SeenAny) -> None:
        """Note all that a source lists from now on."""
        known, now = self._open[source], dict.fromkeys(listed)
        for item in known.keys() - now.keys():
            known.pop(item).end(seen)
        for item in now:
            if item not in known:
                known[item] = Span(seen.version, seen.ts_ns)
                self._spans[item].append(known[item])


class TaintTimelines(folders.Folder):
    """Slices and rules in all their versions."""

    def __init__(self) -> None:
        self.end_ns = 0
        """Time of the last observation."""
        self.claimed_ns: dict[str, int] = {}
        """uid of a claim -> when it was created, if that was observed."""
        self.tolerant: set[str] = set()
        """uids of the claims with tolerations."""
        self._clear = Listings[str]()
        """The devices that slices list without a blocking taint."""
        self._blocked: set[str] = set()
        """The devices that a slice has listed with a blocking taint."""
        self._tainted = Listings[tuple[str, observed_slices.Taint]]()
        """The devices with NoExecute taints of slices of the newest generation."""
        self._rules = Listings[observed_cluster.TaintRuleSpec]()
        self._evicting = collections.defaultdict[str, dict[observed_slices.Taint, None]](dict)
        """Device -> all NoExecute taints that slices have listed for it."""
        self._generations = collections.defaultdict[tuple[str, str], dict[str, int]](dict)
        """Driver and name of a pool -> the generation of each of its slices, by uid."""
        self._changes: dict[str, _Changes] = {observations.SLICES: [], observations.TAINT_RULES: []}

    def view_at(self, ts_ns: int) -> attempt_views.View:
        """Return the versions of slices and rules that were the newest at a time."""
        return attempt_views.View(*(_newest(item, ts_ns) for item in self._changes.values()))

    @property
    def has_taints(self) -> bool:
        """True if a slice or a rule ever had a taint that keeps devices from being allocated."""
        return bool(self._blocked) or any(rule.taint.is_blocking for rule, _ in self._rules)

    def was_tainted(self, device: str) -> bool:
        return device in self._blocked or any(self._blocking_rules(device))

    def could_be_clear(self, device: str, view: attempt_views.View, *, until: int) -> bool:
        """Return whether a scheduler may have seen the device without a blocking taint.

        It has seen some version of the slices and of the rules from `view` on, both before `until`.
        """
        clear = self._clear.of(device)
        if not any(span.since < until and span.until > view.slices for span in clear):
            return False
        reached: float = view.rules
        for span in sorted(self._blocking_rules(device), key=lambda item: item.since):
            if span.since > reached:
                break
            reached = max(reached, min(span.until, until))
        return reached < until

    def taints_of(self, device: str) -> Iterator[tuple[observed_slices.Taint, Span]]:
        """Yield the NoExecute taints of a device."""
        for taint in self._evicting.get(device, ()):
            yield from ((taint, span) for span in self._tainted.of((device, taint)))
        for rule, span in self._rules_of(device):
            if rule.taint.effect == NO_EXECUTE:
                yield rule.taint, span

    def _blocking_rules(self, device: str) -> Iterator[Span]:
        return (span for rule, span in self._rules_of(device) if rule.taint.is_blocking)

    def _rules_of(self, device: str) -> Iterator[tuple[observed_cluster.TaintRuleSpec, Span]]:
        parsed = devices.parse(device)
        for rule, spans in self._rules:
            if rule.device_selector is not None and rule.device_selector.selects(parsed):
                yield from ((rule, span) for span in spans)

    # ------------------------------------------------------------------- observations

    def end(self, ts_ns: int) -> None:
        """Note the end of the records."""
        self.end_ns = ts_ns

    def see_new_claim(self, seen: observations.SeenClaim) -> None:
        uid, options = seen.object.metadata.uid, seen.object.spec.devices.options
        if seen.type == "ADDED":
            self.claimed_ns[uid] = seen.ts_ns
        if any(option.tolerations for option in options.values()):
            self.tolerant.add(uid)

    def see_slice(self, seen: observations.SeenSlice) -> None:
        uid, spec = seen.object.metadata.uid, seen.object.spec
        self._changes[observations.SLICES].append((seen.ts_ns, seen.version))
        listed = {
            str(devices.DeviceID(spec.driver, spec.pool.name, device.name)): device.taints or []
            for device in (not seen.is_gone and spec.devices) or ()
        }
        blocked = {name for name, taints in listed.items() if any(it.is_blocking for it in taints)}
        self._blocked |= blocked
        self._clear.see(uid, listed.keys() - blocked, seen)
        evicting = [
            (device, taint)
            for device, taints in listed.items()
            for taint in taints
            if taint.effect == NO_EXECUTE
        ]
        for device, taint in evicting:
            self._evicting[device][taint] = None
        generations = self._generations[spec.driver, spec.pool.name]
        generations.pop(uid, None)
        if not seen.is_gone:
            generations[uid] = spec.pool.generation
        newest = max(generations.values(), default=0)
        for other, generation in generations.items():
            if other != uid and generation < newest:  # the taints of older generations end
                self._tainted.see(other, (), seen)
        is_newest = generations.get(uid) == newest
        self._tainted.see(uid, evicting if is_newest else (), seen)

    def see_taint_rule(self, seen: observations.SeenTaintRule) -> None:
        """Note a version of a rule; a change of its status changes nothing."""
        self._changes[observations.TAINT_RULES].append((seen.ts_ns, seen.version))
        rules = () if seen.is_gone else (seen.object.spec,)
        self._rules.see(seen.object.metadata.uid, rules, seen)


def _newest(changes: _Changes, ts_ns: int) -> int:
    """Return the newest version up to a time; all may have been seen if there is none."""
    count = bisect.bisect_right(changes, ts_ns, key=lambda item: item[0])
    return changes[count - 1][1] if count else attempt_views.UNKNOWN
