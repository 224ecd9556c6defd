"""Faults of other clients, which change objects of the run.

A `ClientFault` acts as plug-ins do, and needs nothing else: `inject` gets what a plug-in's fault
gets, and runs in a process of its own. `examples/my-plugins` has one that is a plug-in.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pydantic

from harness import errors
from harness.extensions import contracts, descriptions, discovery
from harness.scenario.fault_kinds import fault
from harness.scenario.fields import Name

FIELDS = ("resourceClaimStatuses", "extendedResourceClaimStatus")
"""The fields of a pod's status that a client from before DRA does not know."""
LOOK_S = 0.1
"""Seconds between two looks for pods."""


class ClientFault(fault.Fault):
    """Base of faults that act as clients of the cluster."""

    duration_s: fault.Delay | None = None
    """Seconds until it has to be undone; left out: when it is done, or the load has ended."""

    def inject(self, target: contracts.FaultTarget) -> None:
        """Break something until `target.wait` returns True, or until it is done; then undo it."""
        raise NotImplementedError(self.kind, target)


class EvictByOldClient(ClientFault):
    """An old client evicts running pods, and its write of their status drops the claims' names.

    It deletes a pod, adds the condition DisruptionTarget, and writes the whole status back without
    the fields that it does not know (kubernetes#139876). The kubelet has to end the pod although
    its status does not name its claims any more. `driver.termination_s` gives it the time.
    """

    kind: Literal["evict-by-old-client"]
    times: Annotated[int, pydantic.Field(ge=1, le=1000)] = 1
    """Number of pods."""
    interval_s: fault.Delay = 0.2
    """Seconds from one to the next."""

    effect = fault.Effect.DROPPED_FIELDS
    says = (
        "a client from before DRA evicts {times} pods, {interval_s:g} s apart, and drops the names "
        "of their claims"
    )

    def inject(self, target: contracts.FaultTarget) -> None:
        left, is_over = self.times, False
        while left and not is_over:
            pod = _running(target)
            if pod is not None and _evict(target, pod):
                left -= 1
                is_over = target.wait(self.interval_s)
            else:
                is_over = target.wait(LOOK_S)


def _running(target: contracts.FaultTarget) -> dict[str, Any] | None:
    listed = target.request("GET", f"/api/v1/namespaces/{target.namespace}/pods")["items"]
    found = [pod for pod in listed if _is_running(pod)]
    return target.random.choice(found) if found else None


def _is_running(pod: dict[str, Any]) -> bool:
    status = pod.get("status", {})
    is_named = any(status.get(field) for field in FIELDS)
    is_live = "deletionTimestamp" not in pod["metadata"] and status.get("phase") == "Running"
    return is_live and is_named


def _evict(target: contracts.FaultTarget, pod: dict[str, Any]) -> bool:
    meta = pod["metadata"]
    path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
    said = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    try:
        deleted = target.request("DELETE", path)
        known = {key: value for key, value in deleted["status"].items() if key not in FIELDS}
        known["conditions"] = [*known.get("conditions", ()), said]
        written = target.request("PUT", f"{path}/status", {**deleted, "status": known})
    except (errors.HarnessError, KeyError):
        return False
    names = {key: meta[key] for key in ("name", "namespace", "uid")}
    version = int(written["metadata"]["resourceVersion"])
    target.applied("evicted by an old client", kind="pods", resource_version=version, **names)
    return True


class PluginFault(fault.Fault):
    """A fault of another package (`flake_hunt.faults`), which acts as a client of the cluster."""

    kind: Literal["plugin"]
    plugin: Name
    """Name of the plug-in; `flake-hunt doctor --plugins` lists them."""
    parameters: dict[str, str | int | float | bool] = {}
    """Values for the plug-in; it documents them."""
    duration_s: fault.Delay | None = None
    """Seconds until the plug-in has to undo it; left out: when it is done, or the load has
    ended."""

    says = "the plug-in {plugin} injects its fault"

    @property
    def plugins(self) -> list[str]:
        return [self.plugin]

    def objections(self, run: fault.Run) -> Iterator[str]:
        del run
        try:
            objection = descriptions.problem(discovery.require("faults", self.plugin))
        except errors.PluginError as error:
            objection = str(error)
        if objection:
            yield objection


class TouchObjects(fault.Fault):
    """Another client changes an annotation of objects, so that concurrent updates conflict."""

    kind: Literal["touch-objects"]
    resource: Literal["resourceclaims", "pods", "nodes", "resourceslices"]
    """Plural name of the resource."""
    rate_per_s: Annotated[float, pydantic.Field(gt=0, le=10_000)] = 50.0
    """Changes per second, of all objects in turn."""
    duration_s: fault.Delay | None = None
    """Seconds until the fault is healed; left out: until the load has ended."""

    says = "another client changes an annotation of {resource}, {rate_per_s:g} times a second"
    effect = fault.Effect.CONFLICT
    clause = "another client changed {name}"
    drawn = {
        "resource": fault.one_of("resourceclaims", "pods", "nodes"),
        "rate_per_s": fault.one_of(20.0, 50.0, 100.0),
        "duration_s": fault.LASTING,
    }


class ReallocateClaims(fault.RepeatedFault):
    """Another writer moves claims: it frees a device and allocates a free one, in two writes."""

    kind: Literal["reallocate-claims"]

    says = "another client moves an allocated claim to a free device{repetition}"
    effect = fault.Effect.MOVED_CLAIM
    clause = "another client moved {name} to this device"

    def objections(self, run: fault.Run) -> Iterator[str]:
        are_simple = [
            claim.devices == 1 and not (claim.requests or claim.class_ or claim.admin_access)
            for claim in run.claims
        ]
        if are_simple != [True] or not run.pools.is_plain:
            yield (
                "expected claims of one device of [claim] without requests or admin access, and "
                "pools without further kinds, got others: change them, or remove the fault"
            )


KINDS = (TouchObjects, ReallocateClaims, EvictByOldClient, PluginFault)
