"""Queueing hints: whether an event may make a pod schedulable that some plugins have rejected.

After isPodWorthRequeuing in pkg/scheduler/backend/queue/scheduling_queue.go, EventsToRegister and
the hints of pkg/scheduler/framework/plugins/dynamicresources/dynamicresources.go, and those of the
plugins NodeAffinity, NodeUnschedulable and TaintToleration. A hint changes
nothing; it comes with the named step that has upstream's log line.

The queue asks only about pods that an event can concern, as upstream since 1.37 (PreQueueingHint).
Upstream's earlier releases ask about every pod, and log "unrelated claim got modified" or "pod is
not schedulable after resource claim change" for nearly all of them.
"""

import dataclasses
from collections.abc import Callable, Collection

from harness.model.objects import Object
from harness.subject.objects import claims, nodes
from harness.subject.plugin import scheduling_attempts
from harness.subject.queueing import cluster_events


@dataclasses.dataclass(frozen=True, slots=True)
class Hint:
    """The answer for one pod and one event."""

    is_worth_trying: bool
    step: str = ""
    """The named step for it; empty: there is none."""


SKIP, QUEUE = Hint(is_worth_trying=False), Hint(is_worth_trying=True)
CLAIM_CREATED = Hint(is_worth_trying=True, step="hint.claim-created")
CLAIM_UPDATED = Hint(is_worth_trying=True, step="hint.claim-updated")
CLAIM_DEALLOCATED = Hint(is_worth_trying=True, step="hint.claim-deallocated")
POD_UPDATED = Hint(is_worth_trying=True, step="hint.pod-updated")
CLAIM_UNRELATED = Hint(is_worth_trying=False, step="hint.claim-unrelated")
CLAIM_METADATA = Hint(is_worth_trying=False, step="hint.claim-metadata")
CLAIMS_UNUSABLE = Hint(is_worth_trying=False, step="hint.claims-unusable")
POD_UNUSABLE = Hint(is_worth_trying=False, step="hint.pod-unusable")


class QueueingHints:
    """The hints of the plugins that this scheduler has."""

    def __init__(self, lookup: claims.Lookup) -> None:
        """`lookup` returns the claim of a key; None if there is none."""
        self._lookup = lookup

    def of(
        self, pod: Object, rejectors: Collection[str], event: cluster_events.ClusterEvent
    ) -> Hint:
        """Return whether the event may help a pod; without `rejectors` any event may."""
        if not rejectors:
            return QUEUE
        hints = [self._of_plugin(name, pod, event) for name in sorted(rejectors)]
        return max(hints, key=lambda hint: (hint.is_worth_trying, hint.step))

    def _of_plugin(self, plugin: str, pod: Object, event: cluster_events.ClusterEvent) -> Hint:
        if plugin != scheduling_attempts.DYNAMIC_RESOURCES:
            helps = event.resource == cluster_events.NODE and _lets_in(plugin, pod, event)
            return QUEUE if helps or _is_toleration_of(pod, event) else SKIP
        match event.resource:
            case cluster_events.CLAIM:
                return self.after_claim_change(pod, event.old, event.new)
            case cluster_events.POD:
                return self.after_pod_change(pod, event)
            case cluster_events.NODE:
                return SKIP if event.action == cluster_events.TAINTS_CHANGED else QUEUE
            case cluster_events.SLICE | cluster_events.DEVICE_CLASS:
                return self.after_device_change(event)
        return QUEUE

    def after_claim_change(self, pod: Object, old: Object | None, new: Object | None) -> Hint:
        """Follows isSchedulableAfterClaimChange; a deletion counts since kubernetes#140831."""
        changed = new or old or {}
        try:
            used = claims.of_pod(pod, self._lookup)
        except claims.Unresolved:
            return CLAIMS_UNUSABLE
        if old and claims.allocation_of(old) and not (new and claims.allocation_of(new)):
            return CLAIM_DEALLOCATED
        if not any(claims.uid_of(claim) == claims.uid_of(changed) for claim in used):
            return CLAIM_UNRELATED
        if old is None:
            return CLAIM_CREATED
        if new is not None and _status(old) == _status(new):
            return CLAIM_METADATA  # such as the finalizer
        return CLAIM_UPDATED

    def after_pod_change(self, pod: Object, event: cluster_events.ClusterEvent) -> Hint:
        if event.action != cluster_events.CLAIMS_RECORDED or not event.new:
            return SKIP
        if claims.uid_of(pod) != claims.uid_of(event.new):
            return SKIP
        reason = claims.why_unusable(event.new, self._lookup)
        return POD_UPDATED if reason is None else POD_UNUSABLE

    def after_device_change(self, event: cluster_events.ClusterEvent) -> Hint:
        """Slices and DeviceClasses have no hint: new ones may help every pod.

        Unlike upstream, so may a slice that goes: the pool may have had too many, or the older
        generation may count again.
        """
        is_lost = event.action == cluster_events.DELETE
        return SKIP if is_lost and event.resource == cluster_events.DEVICE_CLASS else QUEUE


def _status(claim: Object) -> Object:
    return claim.get("status") or {}


_ACCEPTS: dict[str, Callable[[Object, Object], bool]] = {
    nodes.NODE_UNSCHEDULABLE: lambda node, _: not nodes.is_unschedulable(node),
    nodes.TAINT_TOLERATION: nodes.tolerates_taints,
    nodes.NODE_AFFINITY: nodes.is_selected,
}


def _lets_in(plugin: str, pod: Object, event: cluster_events.ClusterEvent) -> bool:
    accepts = _ACCEPTS[plugin]
    if event.new is None or not accepts(event.new, pod):
        return False
    return event.old is None or not accepts(event.old, pod)


def _is_toleration_of(pod: Object, event: cluster_events.ClusterEvent) -> bool:
    if event.action != cluster_events.TOLERATIONS_CHANGED or event.new is None:
        return False
    return claims.uid_of(pod) == claims.uid_of(event.new)
