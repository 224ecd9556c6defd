"""When devices could be allocated and had taints, and which versions of it a scheduler knew.

The slice tracker of a Python scheduler marks each event of slices and rules that it has dealt with;
an attempt that begins later must know it. The record of others shows less: see `tainted_devices`.

A device is clear as long as some slice lists it without a taint that keeps it from being allocated;
a rule that selects it makes it tainted, whatever the slices say. A NoExecute taint lasts as long as
a slice of the newest generation of the pool has it for the device, or a rule that selects the
device; it begins again when its time changes.

A device can be allocated while the newest generation of its pool that its nodes see is complete and
valid, and lists it. Slices for other nodes do not count for its generation, as in
k8s.io/dynamic-resource-allocation/structured; the number of slices counts on all nodes.
"""

import bisect
import collections
import dataclasses
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

import msgspec

from harness.checks import plan_facts, protocol
from harness.checks.devices import device_catalogue
from harness.checks.observed import folders, observations, observed_cluster
from harness.history import histories, plans, records
from harness.model import devices

INFORMERS = {"informer-resourceslices": "slices", "informer-devicetaintrules": "rules"}
_KINDS = {kind: kind for kind in INFORMERS.values()}
UNKNOWN = 0
"""The resourceVersion of an unknown view: every version may have been seen."""


@dataclasses.dataclass(frozen=True, slots=True)
class View:
    """The oldest versions that an attempt may have seen, as resourceVersions."""

    slices: int = UNKNOWN
    rules: int = UNKNOWN

    def older(self, other: "View") -> "View":
        return View(min(self.slices, other.slices), min(self.rules, other.rules))


class AttemptViews(dict[str, View]):
    """The view of each claim that the only scheduler has planned devices for, by the claim's uid.

    Empty where pools do not change, and where the steps do not show the views.
    """

    @classmethod
    def from_evidence(cls, evidence: protocol.Evidence) -> "AttemptViews":
        return cls(read_views(evidence.history) if are_asked(evidence.plan) else {})

    def slices_of(self, claim: str) -> int:
        """Return the oldest version of the slices that the attempt for a claim may have seen."""
        return self[claim].slices if claim in self else UNKNOWN


def are_asked(plan: plans.Plan) -> bool:
    """Return whether the steps show more than the record: pools change, one scheduler allocates."""
    return bool(plan_facts.part(plan, "pools").get("changes")) and are_told(plan)


def are_told(plan: plans.Plan) -> bool:
    """Return whether the steps show the views: one scheduler of ours, and no faults."""
    is_alone = len(plan_facts.part(plan, "subject").get("schedulers") or ()) == 1
    return is_alone and plan_facts.SCHEDULER in plan.expected_steps and not plan.faults


def read_views(history: histories.History) -> dict[str, View]:
    """Return the views, of a claim that was planned several times the oldest one.

    Steps of another form show nothing: no claim has a view then.
    """
    views: dict[str, View] = {}
    try:
        for claim, view in _planned(history.steps(plan_facts.SCHEDULER) or ()):
            views[claim] = view.older(views.get(claim, view))
    except (KeyError, TypeError, ValueError):
        return {}
    return views


def _planned(steps: Iterable[records.Body]) -> Iterator[tuple[str, View]]:
    known = dict.fromkeys(INFORMERS.values(), UNKNOWN)
    view = View()
    for step in steps:
        if not isinstance(step, records.Step):
            continue
        match step.name:
            case "scheduling.started":
                view = View(**known)
            case "in-flight.added":
                yield str(step.fields.get("claim")), view
            case "slice-tracker.handled":
                known[_KINDS[step.fields["of"]]] = int(step.fields["version"])
            case "informer.listed" | "informer.gap" if step.fields["informer"] in INFORMERS:
                # A new list may be older than what was known.
                known[INFORMERS[step.fields["informer"]]] = UNKNOWN


# -------------------------------------------------------------------------------- taints
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
        self._tainted = Listings[tuple[str, observed_cluster.Taint]]()
        """The devices with NoExecute taints of slices of the newest generation."""
        self._rules = Listings[observed_cluster.TaintRuleSpec]()
        self._evicting = collections.defaultdict[str, dict[observed_cluster.Taint, None]](dict)
        """Device -> all NoExecute taints that slices have listed for it."""
        self._generations = collections.defaultdict[tuple[str, str], dict[str, int]](dict)
        """Driver and name of a pool -> the generation of each of its slices, by uid."""
        self._changes: dict[str, _Changes] = {observations.SLICES: [], observations.TAINT_RULES: []}

    def view_at(self, ts_ns: int) -> View:
        return View(*(_newest(item, ts_ns) for item in self._changes.values()))

    @property
    def has_taints(self) -> bool:
        return bool(self._blocked) or any(rule.taint.is_blocking for rule, _ in self._rules)

    def was_tainted(self, device: str) -> bool:
        return device in self._blocked or any(self._blocking_rules(device))

    def could_be_clear(self, device: str, view: View, *, until: int) -> bool:
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

    def taints_of(self, device: str) -> Iterator[tuple[observed_cluster.Taint, Span]]:
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
    return changes[count - 1][1] if count else UNKNOWN


# --------------------------------------------------------------------------------- pools
Slices = Mapping[str, observed_cluster.SliceSpec]
"""The slices of a pool by uid, as they are at one version."""


class PoolTimelines(folders.Folder):
    """The spans in which devices could be allocated, folded from all versions of all slices."""

    def __init__(self) -> None:
        self.tainted_since: dict[str, int] = {}
        """`driver/pool/device` -> the first version of a slice that taints it."""
        self._versions: list[int] = []
        """All versions of all slices, in order."""
        self._changes = collections.defaultdict[str, list[tuple[int, bool]]](list)
        """`driver/pool` -> the versions of its slices; True: of the first list."""
        self._slices = collections.defaultdict[str, dict[str, observed_cluster.SliceSpec]](dict)
        """`driver/pool` -> uid of a slice -> its newest version."""
        self._listings = Listings[str]()
        """The devices that can be allocated, by `driver/pool`."""

    def see_slice(self, seen: observations.SeenSlice) -> None:
        spec, uid = seen.object.spec, seen.object.metadata.uid
        pool = f"{spec.driver}/{spec.pool.name}"
        slices = self._slices[pool]
        slices.pop(uid, None)
        if not seen.is_gone:
            slices[uid] = spec
            for device in spec.devices or ():
                if device.taints:
                    self.tainted_since.setdefault(f"{pool}/{device.name}", seen.version)
        self._changes[pool].append((seen.version, seen.type == "LISTED"))
        bisect.insort(self._versions, seen.version)
        self._listings.see(pool, {f"{pool}/{name}" for name in allocatable(slices)}, seen)

    def spans(self, device: str) -> list[Span]:
        return self._listings.of(device)

    def epoch(self, version: int) -> int:
        """Return how many versions of slices there are before this one, in all pools."""
        return bisect.bisect_left(self._versions, version)

    def steady(self, since: int, until: int) -> Iterator[str]:
        """Yield the devices that could be allocated before the version `until`, of the pools that
        did not change after the version `since`; 0: since the first list.
        """
        changed = {
            pool
            for pool, changes in self._changes.items()
            if any(since < rv < until and (since or not listed) for rv, listed in changes)
        }
        for device, spans in self._listings:
            if device.rpartition("/")[0] not in changed and any(
                span.since < until <= span.until for span in spans
            ):
                yield device


def allocatable(slices: Slices) -> Iterator[str]:
    """Yield the names of the devices of a pool that can be allocated on the nodes they are on."""
    for spec in slices.values():
        by_place: dict[bytes, list[str]] = collections.defaultdict(list)
        places: dict[bytes, device_catalogue.Place] = {}
        for device, place in device_catalogue.placed(spec):
            key = msgspec.json.encode(place)
            by_place[key].append(device.name)
            places[key] = place
        for key, names in by_place.items():
            seen = [other for other in slices.values() if _is_seen(other, places[key])]
            if _is_usable(spec, seen, slices.values()):
                yield from names


def _is_seen(spec: observed_cluster.SliceSpec, place: device_catalogue.Place) -> bool:
    if spec.shared_counters:
        return True
    return any(other == place or other.all_nodes for _, other in device_catalogue.placed(spec))


def _is_usable(
    spec: observed_cluster.SliceSpec,
    seen: Iterable[observed_cluster.SliceSpec],
    known: Iterable[observed_cluster.SliceSpec],
) -> bool:
    """Return whether a slice is of the newest generation seen, which is complete and valid."""
    seen = list(seen)
    generation = spec.pool.generation
    if any(other.pool.generation > generation for other in seen):
        return False
    same = [other for other in known if other.pool.generation == generation]
    if len(same) not in {other.pool.resource_slice_count for other in same}:
        return False
    return is_valid([other for other in seen if other.pool.generation == generation])


def is_valid(slices: Iterable[observed_cluster.SliceSpec]) -> bool:
    """Return whether names of devices and of counter sets are unique, and all counters declared."""
    slices = list(slices)
    devices = [device for spec in slices for device in spec.devices or ()]
    sets = [counters for spec in slices for counters in spec.shared_counters or ()]
    is_unique = all(len(items) == len({item.name for item in items}) for items in (devices, sets))
    declared = {(group.name, name) for group in sets for name in group.counters}
    return is_unique and declared.issuperset(
        (group.counter_set, name)
        for device in devices
        for group in device.consumes_counters or ()
        for name in group.counters
    )
