"""The amounts of resources that containers ask for, and a pod as a whole.

After PodRequests in k8s.io/component-helpers/resource: init containers run one after the other,
before the containers, and sidecars run from then on. The API server has set requests to limits, and
accepts only integers.
"""

import collections
from collections.abc import Callable, Mapping, Sequence

from harness.model.objects import Object
from harness.subject.allocation import quantities
from harness.subject.extended_resources import class_resolver


def is_extended(name: str) -> bool:
    """Return whether a resource may be backed by devices: `example.com/gpu`, or an implicit one."""
    if name.startswith(class_resolver.IMPLICIT_PREFIX):
        return True
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def of_container(container: Object) -> dict[str, int]:
    """Return what one container asks for, without zeros."""
    requests = (container.get("resources") or {}).get("requests") or {}
    amounts = {
        name: int(quantities.parse(str(value)).amount)
        for name, value in requests.items()
        if is_extended(name)
    }
    return {name: amount for name, amount in amounts.items() if amount}


def of_pod(pod: Object) -> dict[str, int]:
    """Return what a pod needs at the most at any time, without zeros."""
    spec = pod["spec"]
    if not any(map(of_container, [*spec["containers"], *(spec.get("initContainers") or ())])):
        return {}  # as nearly every pod
    return most(spec, of_container)


def most(spec: Object, amounts_of: Callable[[Object], Mapping[str, int]]) -> dict[str, int]:
    """Return what the containers of a pod need at the most at any time, without zeros.

    `amounts_of(container)` returns what one needs.
    """
    running = _sum([amounts_of(item) for item in spec["containers"]])
    sidecars: collections.Counter[str] = collections.Counter()
    highest: collections.Counter[str] = collections.Counter()
    for container in spec.get("initContainers") or ():
        amounts = collections.Counter(amounts_of(container))
        if is_sidecar(container):
            sidecars += amounts
            highest |= sidecars
        else:
            highest |= sidecars + amounts
    return dict(highest | (running + sidecars))


def is_sidecar(init_container: Object) -> bool:
    """Return whether an init container keeps running beside the containers."""
    return bool(init_container.get("restartPolicy") == "Always")


def _sum(parts: Sequence[Mapping[str, int]]) -> collections.Counter[str]:
    total: collections.Counter[str] = collections.Counter()
    for part in parts:
        total += collections.Counter(part)
    return total
