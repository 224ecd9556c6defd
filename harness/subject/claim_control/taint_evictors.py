"""Evicts the pods whose devices get a NoExecute taint that they do not tolerate.

After pkg/controller/devicetainteviction, a controller beside the one of claims in
kube-controller-manager. Taints are those of the slices and of DeviceTaintRules; a rule also taints
devices that are in no slice any more. The results of its claims say what a pod tolerates.
"""

import datetime
import math
from collections.abc import Iterable, Iterator, Sequence

from harness import concurrency
from harness.client import apis, informers, served_informers, transports
from harness.model.objects import Object
from harness.subject.claim_control import (
    controller_contexts,
    generating,
    work_queues,
)
from harness.subject.objects import change_handlers, claims, nodes

CONDITION = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByDeviceTaintManager",
    "message": "Device Taint manager: deleting due to NoExecute taint",
}
"""The condition of an evicted pod, in upstream's words."""
NO_EXECUTE = "NoExecute"


class TaintEvictor:
    """Follows slices and rules, and deletes pods when their time has come."""

    def __init__(self, context: controller_contexts.ControllerContext) -> None:
        self._context = context
        self._queue = work_queues.WorkQueue("taint-evictor.queue")
        self._guard = concurrency.lock("taint-evictor.devices")
        self._slices: dict[str, Object] = {}
        self._rules: dict[str, Object] = {}
        self._slice_informer = informers.Informer(
            context.api,
            apis.SLICES,
            name="evictor-resourceslices",
            handlers=[self._following(self._slices)],
        )
        self._rule_informer = served_informers.ServedInformer(
            context.api,
            [apis.TAINT_RULES, apis.OLD_TAINT_RULES],
            [self._following(self._rules)],
        )
        self._thread: concurrency.Thread | None = None

    def start(self, *, timeout_s: float) -> None:
        """Start to follow, and then to evict. Raises ClusterError without a list in time."""
        self._slice_informer.start()
        self._slice_informer.wait_synced(timeout_s=timeout_s)
        self._rule_informer.start(timeout_s=timeout_s)
        self._thread = concurrency.spawn("taint-evictor", lambda: self._queue.work(self._sync))

    def stop(self) -> None:
        self._queue.close()
        if self._thread is not None:
            self._thread.join()
        self._rule_informer.stop()
        self._slice_informer.stop()

    # -------------------------------------------------------------------------- events

    def on_pod(self, pod: Object) -> None:
        if pod["spec"].get("nodeName") and self._claim_keys(pod):
            self._queue.add(informers.key_of(pod))

    def on_claim(self, claim: Object) -> None:
        for entry in claims.reservations_of(claim):
            if entry.get("resource") == "pods" and not entry.get("apiGroup"):
                self._queue.add(generating.key_of(claim, entry["name"]))

    def on_taints(self) -> None:
        """Look at the pods of all allocated claims after a change of taints."""
        for claim in self._context.claims.objects():
            if claims.allocation_of(claim) is not None:
                self.on_claim(claim)

    def _following(self, known: dict[str, Object]) -> change_handlers.Changes:
        """Return the handler of an informer that keeps the newest state of each object."""

        def change(old: Object | None, new: Object | None) -> None:
            key = informers.key_of(new or old or {})
            with self._guard:
                known.pop(key, None)
                if new is not None:
                    known[key] = new
            self.on_taints()

        return change_handlers.Changes(change)

    # ----------------------------------------------------------------------------- times

    def _due_s(self, pod: Object) -> float | None:
        times = [
            due_s(self._taints_of(result), self._tolerations(result))
            for claim in self._claims_of(pod)
            for result in (claims.allocation_of(claim) or {}).get("devices", {}).get("results", ())
        ]
        return min((time for time in times if time is not None), default=None)

    def _tolerations(self, result: Object) -> Sequence[Object]:
        return result.get("tolerations") or ()

    def _claims_of(self, pod: Object) -> Iterator[Object]:
        for key in self._claim_keys(pod):
            claim = self._context.claims.get(key)
            if claim is not None and claims.is_reserved_for(claim, pod):
                yield claim

    def _claim_keys(self, pod: Object) -> list[str]:
        return [*claims.known_claim_keys(pod), *generating.extended_claim_keys(pod)]

    def _taints_of(self, result: Object) -> list[Object]:
        with self._guard:
            slices, rules = list(self._slices.values()), list(self._rules.values())
        tainting = [rule["spec"] for rule in rules]
        found = [item["taint"] for item in tainting if _selects(item.get("deviceSelector"), result)]
        return found + [taint for item in _listed(slices, result) for taint in item]

    # -------------------------------------------------------------------------- workers

    def _sync(self, key: str) -> bool:
        pod = self._context.pods.get(key)
        if pod is None or claims.is_deleting(pod) or not pod["spec"].get("nodeName"):
            return True
        due_s = self._due_s(pod)
        if due_s is None:
            return True
        if (wait_s := due_s - concurrency.wall_s()) > 0:
            self._queue.add_after(key, wait_s)
            return True
        try:
            self._evict(pod)
        except (apis.ApiError, transports.TransportError) as error:
            concurrency.step("controller.failed", key=key, reason=str(error))
            return False
        return True

    def _evict(self, pod: Object) -> None:
        """Delete a pod, after its condition has said why. Raises ApiError or TransportError."""
        meta = pod["metadata"]
        place = {"namespace": meta["namespace"]}
        said = {"metadata": {"uid": meta["uid"]}, "status": {"conditions": [CONDITION]}}
        with apis.if_there():
            self._context.api.patch(
                apis.PODS,
                meta["name"],
                said,
                kind=apis.PatchKind.STRATEGIC,
                subresource="status",
                **place,
            )
            self._context.api.delete(apis.PODS, meta["name"], uid=meta["uid"], **place)
        concurrency.step("controller.evicted", pod=meta["uid"])


def _selects(selector: Object | None, result: Object) -> bool:
    """Return whether a rule selects a device; without a selector it selects none."""
    if selector is None:
        return False
    return all(selector.get(key) in (None, result[key]) for key in ("driver", "pool", "device"))


def _listed(slices: Iterable[Object], result: Object) -> Iterator[Sequence[Object]]:
    """Yield the taints of a device in the slices of its pool's newest generation."""
    place = result["driver"], result["pool"]
    specs = [item["spec"] for item in slices]
    of_pool = [spec for spec in specs if (spec["driver"], spec["pool"]["name"]) == place]
    newest = max((spec["pool"]["generation"] for spec in of_pool), default=-math.inf)
    for spec in of_pool:
        for device in spec.get("devices") or () if spec["pool"]["generation"] == newest else ():
            if device["name"] == result["device"]:
                yield device.get("taints") or ()


def due_s(taints: Iterable[Object], tolerations: Sequence[Object]) -> float | None:
    """Return when the users of a device must go; None: every taint that evicts is tolerated."""
    times = [_due_s(taint, tolerations) for taint in taints if taint.get("effect") == NO_EXECUTE]
    return min((time for time in times if time is not None), default=None)


def _due_s(taint: Object, tolerations: Sequence[Object]) -> float | None:
    limits = [_limit_s(item) for item in tolerations if nodes.tolerates(item, taint)]
    limit_s = max(min(limits, default=0.0), 0.0)
    return None if limit_s == math.inf else _seconds(taint.get("timeAdded")) + limit_s


def _limit_s(toleration: Object) -> float:
    seconds = toleration.get("tolerationSeconds")
    if seconds is None or toleration.get("effect") != NO_EXECUTE:
        return math.inf
    return float(seconds)


def _seconds(text: str | None) -> float:
    """Return a time of the API; without one the taint counts as old, and evicts at once."""
    return -math.inf if text is None else datetime.datetime.fromisoformat(text).timestamp()
