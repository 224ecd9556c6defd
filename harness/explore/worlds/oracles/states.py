"""The state of a world at rest, for the oracles that judge it then."""

import dataclasses
from collections.abc import Callable, Sequence

from harness.explore.worlds import world_fixtures
from harness.model.objects import Object

_EXTENDED = "deviceclass.resource.kubernetes.io/"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The objects of the API at rest, and who is there."""

    pods: list[Object]
    claims: list[Object]
    slices: list[Object]
    nodes: list[Object]
    schedulers: Sequence[str] = (world_fixtures.SCHEDULER,)
    """The names of the schedulers that run."""
    books: Sequence[Callable[[], None]] = ()
    """Writes down what a scheduler believes, for each of them (see `scheduler_books`)."""
    is_controlled: bool = True
    """True if a claim controller runs."""
    tainted: frozenset[str] = frozenset()
    """Drivers whose devices are all tainted by a rule."""


def extended_claims(pod: Object) -> list[Object]:
    """Return what would be the claim for extended resources, if the pod asks for some."""
    requests = []
    for container in pod["spec"]["containers"]:
        limits = container.get("resources", {}).get("limits", {})
        for resource, count in limits.items():
            if resource.startswith(_EXTENDED):
                requests.append({"name": resource, "exactly": {"count": int(count)}})
    return [{"spec": {"devices": {"requests": requests}}}] if requests else []
