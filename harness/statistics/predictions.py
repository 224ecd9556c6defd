"""Is one more value like the values before it? A test for a value that stands alone.

The values before are independent and spread normally. Their standard deviation is estimated, so
that the distance of the new one follows Student's distribution (the prediction interval). That of
BEFORE_MIN values is used also for more of them: its longer tails make up for values that are spread
more widely than normal ones.
"""

import math
import statistics
from collections.abc import Sequence

BEFORE_MIN = 7
"""Fewest values before the new one."""


def p_value(
    before: Sequence[float], value: float, *, least_variance: float, ratio: float = 1.0
) -> float:
    """Return the two-sided p-value for a value like those before it.

    `least_variance`: the variance is not taken to be smaller. `ratio`: how much larger that of the
    new value may be by its nature. Raises ValueError for too few values.
    """
    if len(before) < BEFORE_MIN:
        raise ValueError(f"expected at least {BEFORE_MIN} values, got {len(before)}")
    variance = max(statistics.variance(before), least_variance)
    distance = abs(value - statistics.fmean(before))
    return _student(distance / math.sqrt(variance * (ratio + 1 / len(before))))


def _student(distance: float) -> float:
    """Return the two-sided tail of Student's distribution with 6 degrees of freedom.

    The finite sum for an even number (Abramowitz and Stegun, 26.7.4).
    """
    angle = math.atan(distance / math.sqrt(BEFORE_MIN - 1))
    square = math.cos(angle) ** 2
    return max(1 - math.sin(angle) * (1 + square / 2 + 3 * square**2 / 8), 0.0)
