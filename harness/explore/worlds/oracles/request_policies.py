"""The amount that a request takes of a capacity, in exact numbers.

Written from the documentation of the API, apart from the scheduler's code.
"""

import math
from fractions import Fraction

from harness.model import quantities
from harness.model.objects import Object


def taken(wanted: str | None, capacity: Object) -> Fraction | None:
    """Return what a request takes of one capacity of a device; None: its policy forbids it.

    `wanted` None: the request does not say. `capacity` is an entry of the device's `capacity`.
    """
    policy = capacity.get("requestPolicy", {})
    default = quantities.amount(policy["default"]) if "default" in policy else None
    if wanted is None:
        return quantities.amount(capacity["value"]) if default is None else default
    asked = quantities.amount(wanted)
    rounded = _rounded(asked, policy)
    if rounded is None and asked == default:
        return asked
    return None if rounded is None or rounded < 0 else rounded


def _rounded(asked: Fraction, policy: Object) -> Fraction | None:
    if "validValues" in policy:
        return next(
            (value for value in map(quantities.amount, policy["validValues"]) if value >= asked),
            None,
        )
    if "validRange" not in policy:
        return asked
    limits = {name: quantities.amount(text) for name, text in policy["validRange"].items()}
    rounded = max(asked, limits["min"])
    if "step" in limits:
        steps = math.ceil((rounded - limits["min"]) / limits["step"])
        rounded = limits["min"] + steps * limits["step"]
    return None if rounded > limits.get("max", rounded) else rounded
