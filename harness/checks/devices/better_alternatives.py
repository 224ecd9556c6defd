"""Finds alternatives that a claim must have got before the one that it has.

The API promises (resource.k8s.io/v1, DeviceRequest.firstAvailable): the scheduler "tries to satisfy
them in the order in which they are listed here. So if there are two entries in the list, the
scheduler will only check the second one if it determines that the first one can not be used."

A record does not show which devices a scheduler had chosen for other claims and not written yet, or
what it had not heard of. Therefore an earlier alternative is demanded only if the chosen node had
more devices for it than all claims together can have taken (`device_demand`). This is so for the
first allocations of a run, in which an order that is wrong in general shows. Where claims compete,
the order is not judged. Claims with constraints are left out, and so
are alternatives for all devices or for capacities.
"""

import dataclasses
from collections.abc import Iterator, Sequence

from harness.checks.devices import (
    allocations,
    certain_devices,
    device_demand,
    request_options,
)

RESULTS_MAX = 32
"""Devices that a claim can have; the API's limit."""


@dataclasses.dataclass(frozen=True, slots=True)
class Choice:
    """An alternative that was chosen, and those before it."""

    chosen: request_options.Option
    better: Sequence[request_options.Option]


def later_choices(grant: allocations.Grant) -> Iterator[Choice]:
    """Yield the requests of a claim that got another alternative than the first one."""
    got = {result.request for result in grant.results}
    for request in grant.spec.requests or ():
        options = list(request_options.options_of(request))
        chosen = [index for index, option in enumerate(options) if option.name in got]
        if chosen and chosen[0]:
            yield Choice(options[chosen[0]], options[: chosen[0]])


def problems(
    grant: allocations.Grant,
    node: str,
    certain: certain_devices.CertainDevices,
    window: certain_devices.Window,
    taken: float,
) -> Iterator[str]:
    """Yield the alternatives that could certainly be used, and were not.

    `taken` is the largest number of devices that may have been taken by claims, this one too.
    """
    own = device_demand.most(grant.spec.requests or ())
    if grant.spec.constraints or own > RESULTS_MAX:
        return
    for choice in later_choices(grant):
        for option in choice.better:
            there = _count(option, node, certain, window)
            if there >= max(taken, own):
                yield (
                    f"request {choice.chosen.request} got devices for {choice.chosen.name}, "
                    f"although {node} had {there} for {option.name}, which comes before it, and "
                    f"all claims together could have {max(taken, own):.0f} of them at most"
                )
                break


def _count(
    option: request_options.Option,
    node: str,
    certain: certain_devices.CertainDevices,
    window: certain_devices.Window,
) -> int:
    """Return how many devices a node certainly had for an alternative."""
    if option.count is None or option.wanted.quantities:
        return 0
    return sum(1 for _ in certain.matching(node, option, window))
