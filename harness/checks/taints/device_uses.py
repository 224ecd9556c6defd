"""When pods used devices, and when these had NoExecute taints, by the times of the recorder.

A pod uses a device while it is bound, runs, and a claim with the device is reserved for it. A taint
lasts as long as a slice of the newest generation of the pool has it for the device, or a rule that
selects the device; it begins again when its time changes.
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from harness.checks.observed import (
    field_managers,
    folders,
    observations,
    observed_claims,
    observed_cluster,
    observed_pods,
    observed_slices,
)
from harness.model import devices

NO_EXECUTE = "NoExecute"
EVICTED = "DeletionByDeviceTaintManager"
"""Reason of the condition of a pod that was evicted because of a taint."""
_CONDITION = "DisruptionTarget"
Pool = tuple[str, str]
"""Driver and name of a pool."""


class Tainting(NamedTuple):
    """A taint of a device."""

    device: str
    """`driver/pool/device`."""
    key: str
    value: str
    time_added: str | None


@dataclasses.dataclass(slots=True)
class Span:
    """A span of time, in the recorder's nanoseconds."""

    since_ns: int
    until_ns: float = math.inf


@dataclasses.dataclass(slots=True)
class PodTimes:
    """A pod, and when it was bound, was to end, and was evicted by a taint."""

    involved: Any
    bound_ns: float = math.inf
    ended_ns: float = math.inf
    """It was deleted, or had ended."""
    evicted_ns: float | None = None
    evicted_rv: int = 0
    evicted_by: str = ""
    """The field manager that has said so; empty: not known."""


@dataclasses.dataclass(frozen=True, slots=True)
class Use:
    """A device that a claim holds for a pod."""

    claim: Any
    """The claim as it is named in a violation."""
    pod: str
    """UID of the pod."""
    device: str
    tolerations: tuple[Any, ...]
    """Those of the allocation result, as JSON."""
    span: Span


@dataclasses.dataclass(slots=True)
class DeviceUses(folders.Folder):
    """The pods, what they used, and the taints."""

    pods: dict[str, PodTimes] = dataclasses.field(default_factory=dict)
    """By UID."""
    uses: list[Use] = dataclasses.field(default_factory=list)
    end_ns: int = 0
    """Time of the last observation."""
    _tainted: dict[str, list[tuple[Tainting, Span]]] = dataclasses.field(default_factory=dict)
    """The taints of slices, by device."""
    _rules: list[tuple[observed_cluster.TaintRuleSpec, Span]] = dataclasses.field(
        default_factory=list
    )
    _using: dict[str, dict[tuple[str, str, str], Use]] = dataclasses.field(default_factory=dict)
    """The uses of each claim, by its UID."""
    _listed: dict[str, dict[Tainting, Span]] = dataclasses.field(default_factory=dict)
    """The taints of the newest version of each slice, by its UID."""
    _slices: dict[Pool, dict[str, int]] = dataclasses.field(default_factory=dict)
    """The generation of each slice of a pool, by its UID."""
    _ruling: dict[str, tuple[observed_cluster.TaintRuleSpec, Span]] = dataclasses.field(
        default_factory=dict
    )
    """The newest version of each rule, by its UID."""

    def taints_of(self, device: str) -> Iterator[tuple[Tainting, Span]]:
        yield from self._tainted.get(device, ())
        parsed = devices.parse(device)
        for spec, span in self._rules:
            taint, selector = spec.taint, spec.device_selector
            if taint.effect == NO_EXECUTE and selector is not None and selector.selects(parsed):
                yield Tainting(device, taint.key, taint.value, taint.time_added), span

    # -------------------------------------------------------------------- observations

    def end(self, ts_ns: int) -> None:
        """Note the end of the records."""
        self.end_ns = ts_ns

    def see_pod(self, seen: observations.SeenPod) -> None:
        pod = seen.object
        times = self.pods.setdefault(pod.metadata.uid, PodTimes(pod.involved))
        if pod.spec.node_name:
            times.bound_ns = min(times.bound_ns, seen.ts_ns)
        if pod.metadata.deletion_timestamp or pod.has_ended or seen.is_gone:
            times.ended_ns = min(times.ended_ns, seen.ts_ns)
        if times.evicted_ns is None and any(map(_is_eviction, pod.status.conditions or ())):
            times.evicted_ns, times.evicted_rv = seen.ts_ns, seen.version
            times.evicted_by = field_managers.of_condition(pod.metadata.managed_fields, _CONDITION)

    def see_claim(self, seen: observations.SeenClaim) -> None:
        claim, known = seen.object, self._using.get(seen.object.metadata.uid, {})
        listed = {} if seen.is_gone else _used(claim)
        for key in known.keys() - listed.keys():
            known.pop(key).span.until_ns = seen.ts_ns
        for key, result in listed.items():
            if key not in known:
                pod, device, _ = key
                tolerations = tuple(result.tolerations or ())
                known[key] = Use(claim.involved, pod, device, tolerations, Span(seen.ts_ns))
                self.uses.append(known[key])
        self._using[claim.metadata.uid] = known

    def see_slice(self, seen: observations.SeenSlice) -> None:
        """Note the taints of a version of a slice, and end those of older generations."""
        uid, spec = seen.object.metadata.uid, seen.object.spec
        pool = self._slices.setdefault((spec.driver, spec.pool.name), {})
        pool.pop(uid, None)
        if not seen.is_gone:
            pool[uid] = spec.pool.generation
        newest = max(pool.values(), default=0)
        for other, generation in pool.items():
            if other != uid and generation < newest:
                self._list(other, (), seen.ts_ns)
        is_newest = pool.get(uid) == newest
        self._list(uid, _tainting(spec) if is_newest else (), seen.ts_ns)

    def _list(self, uid: str, taints: Iterable[Tainting], ts_ns: int) -> None:
        """Note the taints of a slice; those that it had before go on."""
        known, listed = self._listed.setdefault(uid, {}), set(taints)
        for taint in known.keys() - listed:
            known.pop(taint).until_ns = ts_ns
        for taint in listed - known.keys():
            known[taint] = Span(ts_ns)
            self._tainted.setdefault(taint.device, []).append((taint, known[taint]))

    def see_taint_rule(self, seen: observations.SeenTaintRule) -> None:
        """Note a version of a rule; a change of its status changes nothing."""
        uid, spec = seen.object.metadata.uid, seen.object.spec
        known = self._ruling.get(uid)
        if known is not None and (seen.is_gone or known[0] != spec):
            known[1].until_ns = seen.ts_ns
            del self._ruling[uid]
        if not seen.is_gone and uid not in self._ruling:
            self._ruling[uid] = spec, Span(seen.ts_ns)
            self._rules.append(self._ruling[uid])


def _is_eviction(condition: observed_pods.Condition) -> bool:
    return condition.reason == EVICTED and condition.status == "True"


def _used(
    claim: observed_claims.Claim,
) -> dict[tuple[str, str, str], observed_claims.AllocationResult]:
    """Return what pods use by a claim: UID of the pod, device and request -> the result."""
    pods = [item.uid for item in claim.status.reserved_for or () if item.resource == "pods"]
    return {(pod, item.id, item.request): item for pod in pods for item in claim.results}


def _tainting(spec: observed_slices.SliceSpec) -> Iterator[Tainting]:
    for device in spec.devices or ():
        for taint in device.taints or ():
            if taint.effect == NO_EXECUTE:
                name = str(devices.DeviceID(spec.driver, spec.pool.name, device.name))
                yield Tainting(name, taint.key, taint.value, taint.time_added)
