"""Reads from the past: gets and lists, and the read that decides a deletion."""

from typing import Literal

from harness.faults import injection
from harness.scenario.fault_kinds import fault, traffic_fault


class StaleRead(traffic_fault.TrafficFault):
    """A get or list shows the state of some seconds ago, as an API server's watch cache may."""

    kind: Literal["stale-list"]
    seconds: fault.Delay
    """Age of the state in seconds."""

    at = "request"
    only_verbs = ("get", "list")
    acts = injection.Stale
    does = "shows the state of {seconds:g} s ago"
    effect = fault.Effect.OLD_STATE
    drawn = {
        "on": fault.one_of(
            {"resource": "resourceclaims", "verbs": ["list"]},
            {"resource": "resourceslices", "verbs": ["list"]},
            {"role": "claim-controller", "resource": "pods", "verbs": ["list"]},
        ),
        "seconds": fault.PAUSE,
        "duration_s": fault.LASTING,
    }


class OverlookFinalizers(traffic_fault.TrafficFault):
    """A deletion is decided from the state of some seconds ago: newer finalizers are not seen.

    kube-apiserver does it within milliseconds. Only the embedded API server can be made to.
    """

    kind: Literal["overlook-finalizers"]
    seconds: fault.Delay
    """Age of the state in seconds; an object without finalizers since then is removed at once."""

    at = "request"
    only_verbs = ("delete",)
    acts = injection.Overlook
    does = "does not see finalizers that were added in the {seconds:g} s before"
    needs_server = True


KINDS = (StaleRead, OverlookFinalizers)
