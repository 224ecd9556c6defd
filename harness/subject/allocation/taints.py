"""Taints of devices, and whether a request tolerates them.

After ToleratesTaint in k8s.io/dynamic-resource-allocation/resourceclaim.
"""

from collections.abc import Iterable

from harness.model.objects import Object

EFFECTS = ("NoSchedule", "NoExecute")
"""The effects that keep a device from being allocated; `None` and unknown effects do not."""


def blocking(device: Object) -> tuple[Object, ...]:
    """Return the taints of a device that a request has to tolerate."""
    return tuple(taint for taint in device.get("taints") or () if taint.get("effect") in EFFECTS)


def are_tolerated(taints: Iterable[Object], tolerations: Iterable[Object]) -> bool:
    """Return whether each taint is tolerated by one of the tolerations."""
    return all(any(_tolerates(toleration, taint) for toleration in tolerations) for taint in taints)


def _tolerates(toleration: Object, taint: Object) -> bool:
    """Return whether a toleration tolerates a taint.

    An empty key or effect stands for all. An unknown operator tolerates nothing.
    """
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    if toleration.get("key") and toleration["key"] != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Equal":
        return bool(toleration.get("value", "") == taint.get("value", ""))
    return bool(operator == "Exists")
