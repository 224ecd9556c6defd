"""Faults that act as clients of the cluster, as plug-ins do: their base, and the kinds.

Such a kind needs nothing else: `inject` gets what a plug-in's fault gets, and runs in a process of
its own. `examples/my-plugins` has one that is a plug-in.
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
        """Evict pods until there were enough, or the load has ended."""
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


KINDS = (EvictByOldClient, PluginFault)
