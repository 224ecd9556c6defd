"""The pods, claims and slices that exist at one time, as the API server published them.

Folded from the observations of a run, or kept up to date while a run goes on. A state also holds
the time of the last change that the scheduler had to react to, or by which it made progress.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from harness.checks.holds import hold_history
from harness.checks.observed import (
    folders,
    observations,
    observed_claims,
    observed_cluster,
    observed_pods,
)
from harness.history import records

Object: TypeAlias = observed_pods.Pod | observed_claims.Claim | observed_cluster.Slice
PODS, CLAIMS, SLICES = observations.PODS, observations.CLAIMS, observations.SLICES
TYPES: dict[str, type[Object]] = {
    PODS: observed_pods.Pod,
    CLAIMS: observed_claims.Claim,
    SLICES: observed_cluster.Slice,
}
"""The types of the objects that a state holds, by resource."""


class WorldState(folders.Folder):
    """The objects that exist, by uid.

    Final lists change nothing.
    """

    NEEDS = (hold_history.HoldHistory,)

    def __init__(self) -> None:
        self.pods: dict[str, observed_pods.Pod] = {}
        self.claims: dict[str, observed_claims.Claim] = {}
        self.slices: dict[str, observed_cluster.Slice] = {}
        self.nodes: dict[str, Mapping[str, str]] | None = None
        """Labels of the nodes by name; None: nodes are not observed."""
        self.allocatable: dict[str, Mapping[str, Any]] = {}
        """Node -> the amounts that pods can request on it, as far as observed."""
        self.taint_rules: dict[str, observed_cluster.TaintRuleSpec] = {}
        """The DeviceTaintRules, by UID."""
        self.classes: dict[str, observed_cluster.DeviceClassSpec] = {}
        """The DeviceClasses, by name; empty: they are not observed."""
        self.groups: dict[str, observed_pods.PodGroup] = {}
        """The PodGroups by uid."""
        self.granted: set[tuple[tuple[str, ...], str]] = set()
        """Kinds of requests with selectors, and a device that such a request was given once."""
        self.robbed: set[str] = set()
        """UIDs of pods whose allocated claim the API server removed in spite of its finalizer."""
        self.moved_ns = 0
        """Time of the last change that lets the scheduler go on or shows that it does: a pod came,
        ran or went, a user's claim came or went, a slice changed, or changes may be unseen."""
        self.claims_changed_ns = 0
        """Time of the last change of any claim."""

        self._tables: dict[str, dict[str, Any]] = {
            observed_pods.Pod.KIND: self.pods,
            observed_claims.Claim.KIND: self.claims,
            observed_cluster.Slice.KIND: self.slices,
        }

    def see_pod(self, seen: observations.SeenPod) -> None:
        self.note(seen.object, seen.ts_ns, is_gone=seen.is_gone)

    def see_claim(self, seen: observations.SeenClaim) -> None:
        if seen.ignored_finalizers and seen.object.status.allocation is not None:
            self.robbed |= seen.object.pods
        self.note(seen.object, seen.ts_ns, is_gone=seen.is_gone)

    def see_slice(self, seen: observations.SeenSlice) -> None:
        self.note(seen.object, seen.ts_ns, is_gone=seen.is_gone)

    def see_node(self, seen: observations.SeenNode) -> None:
        self.nodes, meta = self.nodes or {}, seen.object.metadata
        if seen.is_gone:
            self.nodes.pop(meta.name, None)
            self._moved(seen.ts_ns)
        else:
            self.nodes[meta.name] = meta.labels or {}
            self.allocatable[meta.name] = seen.object.status.allocatable or {}

    def see_taint_rule(self, seen: observations.SeenTaintRule) -> None:
        self._see(self.taint_rules, seen.object.metadata.uid, seen.object.spec, seen)

    def see_class(self, seen: observations.SeenClass) -> None:
        self._see(self.classes, seen.object.metadata.name, seen.object.spec, seen)

    def see_pod_group(self, seen: observations.SeenPodGroup) -> None:
        self._see(self.groups, seen.object.metadata.uid, seen.object, seen)

    def see_gap(self, gap: records.Gap) -> None:
        self._moved(gap.ts_ns)
        self._claim_changed(gap.ts_ns)

    def see_list(self, listed: records.Listed) -> None:
        if listed.purpose == "relist":
            self._moved(listed.ts_ns)
            self._claim_changed(listed.ts_ns)

    def conclude(self, others: Mapping[type, Any]) -> None:
        """Remove what vanished unseen."""
        folded: hold_history.HoldHistory = others[hold_history.HoldHistory]
        for resource, kind in TYPES.items():
            table, kept = self._tables[kind.KIND], folded.stream(resource).live
            for uid in [uid for uid in table if uid not in kept]:
                del table[uid]

    def note(self, obj: Object, ts_ns: int, *, is_gone: bool) -> None:
        """Note a pod, claim or slice as it is now, or that it is gone."""
        table, uid = self._tables[obj.KIND], obj.metadata.uid
        before = table.pop(uid, None) if is_gone else table.get(uid)
        if not is_gone:
            table[uid] = obj
        if _milestones(obj) if is_gone else _milestones(before) != _milestones(obj):
            self._moved(ts_ns)
        if isinstance(obj, observed_claims.Claim):
            self._claim_changed(ts_ns)
            if not is_gone:
                self._note_grants(obj)

    def _see(self, table: dict[str, Any], key: str, value: Any, seen: observations.SeenAny) -> None:
        if seen.is_gone:
            table.pop(key, None)
        else:
            table[key] = value
        self._moved(seen.ts_ns)

    def _moved(self, ts_ns: int) -> None:
        self.moved_ns = max(self.moved_ns, ts_ns)

    def _claim_changed(self, ts_ns: int) -> None:
        self.claims_changed_ns = max(self.claims_changed_ns, ts_ns)

    def _note_grants(self, claim: observed_claims.Claim) -> None:
        asked = {item.name: item.exactly for item in claim.spec.devices.requests or ()}
        for result in claim.results:
            request = asked.get(result.request)
            if request is not None and request.selectors:
                self.granted.add((request.kind, result.id))


def _milestones(obj: Object | None) -> Sequence[object]:
    """Return what the scheduler waits for or achieves; changes of anything else do not count.

    Empty for what does not exist, and for generated claims: they come and go because of their pods,
    and a controller that makes them again and again makes no progress.
    """
    match obj:
        case observed_pods.Pod():
            runs = obj.runs or obj.has_ended
            return runs, obj.has_ended, obj.metadata.deletion_timestamp
        case observed_claims.Claim() if obj.metadata.owner is None:
            return (obj.metadata.deletion_timestamp,)
        case observed_cluster.Slice():
            return (obj.spec,)
        case _:
            return ()
