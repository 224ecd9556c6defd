"""The pods, claims and slices that exist at one time, as the API server published them.

Folded from the observations of a run, or kept up to date while a run goes on. A state also holds
the time of the last change that the scheduler had to react to, or by which it made progress.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from harness.checks.holds import hold_history
from harness.checks.observed import (
    folders,
    observations,
    observed_claims,
    observed_cluster,
    observed_pods,
    observed_slices,
)
from harness.history import records

Object: TypeAlias = observed_pods.Pod | observed_claims.Claim | observed_slices.Slice
PODS, CLAIMS, SLICES = observations.PODS, observations.CLAIMS, observations.SLICES
TYPES: dict[str, type[Object]] = {
    PODS: observed_pods.Pod,
    CLAIMS: observed_claims.Claim,
    SLICES: observed_slices.Slice,
}
"""The types of the objects that a state holds, by resource."""


class WorldState(folders.Folder):
    """The objects that exist, by uid.

    Final lists change nothing. Objects that vanished unseen remain; see `keep`.
    """

    NEEDS = (hold_history.HoldHistory,)

    def __init__(self) -> None:
        self.pods: dict[str, observed_pods.Pod] = {}
        self.claims: dict[str, observed_claims.Claim] = {}
        self.slices: dict[str, observed_slices.Slice] = {}
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

    def see_pod(self, seen: observations.SeenPod) -> None:
        self._see(seen)

    def see_claim(self, seen: observations.SeenClaim) -> None:
        self.robbed |= observations.robbed(seen)
        self._see(seen)

    def see_slice(self, seen: observations.SeenSlice) -> None:
        self._see(seen)

    def see_node(self, seen: observations.SeenNode) -> None:
        self.nodes, meta = self.nodes or {}, seen.object.metadata
        if seen.is_gone:
            self.nodes.pop(meta.name, None)
            self._moved(seen.ts_ns)
        else:
            self.nodes[meta.name] = meta.labels or {}
            self.allocatable[meta.name] = seen.object.status.allocatable or {}

    def see_taint_rule(self, seen: observations.SeenTaintRule) -> None:
        if seen.is_gone:
            self.taint_rules.pop(seen.object.metadata.uid, None)
        else:
            self.taint_rules[seen.object.metadata.uid] = seen.object.spec
        self._moved(seen.ts_ns)

    def see_class(self, seen: observations.SeenClass) -> None:
        name = seen.object.metadata.name
        if seen.is_gone:
            self.classes.pop(name, None)
        else:
            self.classes[name] = seen.object.spec
        self._moved(seen.ts_ns)

    def see_pod_group(self, seen: observations.SeenPodGroup) -> None:
        if seen.is_gone:
            self.groups.pop(seen.object.metadata.uid, None)
        else:
            self.groups[seen.object.metadata.uid] = seen.object
        self._moved(seen.ts_ns)

    def see_gap(self, gap: records.Gap) -> None:
        self._moved(gap.ts_ns)
        self._claim_changed(gap.ts_ns)

    def see_list(self, listed: records.Listed) -> None:
        if listed.purpose == "relist":
            self._moved(listed.ts_ns)
            self._claim_changed(listed.ts_ns)

    def conclude(self, others: Mapping[type, Any]) -> None:
        folded: hold_history.HoldHistory = others[hold_history.HoldHistory]
        for resource in TYPES:
            self.keep(resource, folded.stream(resource).live)

    def keep(self, resource: str, uids: Iterable[str]) -> None:
        """Remove all objects of a resource but these."""
        table, kept = self._table(TYPES[resource]), set(uids)
        for uid in [uid for uid in table if uid not in kept]:
            del table[uid]

    def note(self, obj: Object, ts_ns: int) -> None:
        table = self._table(type(obj))
        if _milestones(table.get(obj.metadata.uid)) != _milestones(obj):
            self._moved(ts_ns)
        table[obj.metadata.uid] = obj
        if isinstance(obj, observed_claims.Claim):
            self._claim_changed(ts_ns)
            self._note_grants(obj)

    def forget(self, obj: Object, ts_ns: int) -> None:
        self._table(type(obj)).pop(obj.metadata.uid, None)
        if _milestones(obj):
            self._moved(ts_ns)
        if isinstance(obj, observed_claims.Claim):
            self._claim_changed(ts_ns)

    def _see(self, seen: observations.SeenAny) -> None:
        change = self.forget if seen.is_gone else self.note
        change(seen.object, seen.ts_ns)

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

    def _table(self, kind: type[Object]) -> dict[str, Any]:
        if issubclass(kind, observed_pods.Pod):
            return self.pods
        return self.claims if issubclass(kind, observed_claims.Claim) else self.slices


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
        case observed_slices.Slice():
            return (obj.spec,)
        case _:
            return ()
