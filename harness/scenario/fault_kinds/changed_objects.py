"""Other clients that change objects of the run: annotations, and the devices of claims."""

from collections.abc import Iterator
from typing import Annotated, Literal

import pydantic

from harness.scenario.fault_kinds import fault


class TouchObjects(fault.Fault):
    """Another client changes an annotation of objects, so that concurrent updates conflict."""

    kind: Literal["touch-objects"]
    resource: Literal["resourceclaims", "pods", "nodes", "resourceslices"]
    """Plural name of the resource."""
    object_name: str = "*"
    """Shell pattern for the names of the objects."""
    rate_per_s: Annotated[float, pydantic.Field(gt=0, le=10_000)] = 50.0
    """Changes per second, of all objects in turn."""
    duration_s: fault.Delay | None = None
    """Seconds until the fault is healed; left out: until the load has ended."""

    says = (
        "another client changes an annotation of {resource} named {object_name}, "
        "{rate_per_s:g} times a second"
    )
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


KINDS = (TouchObjects, ReallocateClaims)
