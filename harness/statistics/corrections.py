"""Several tests at once: the probability that any of them errs stays below one level.

Holm's step-down correction (S. Holm, "A simple sequentially rejective multiple test procedure",
1979) needs no assumption about how the tests depend on each other.
"""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the corrected p-values, in the order given; each is compared with the level."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [1.0] * len(p_values)
    largest = 0.0
    for step, index in enumerate(order):
        largest = max(largest, (len(order) - step) * p_values[index])
        corrected[index] = min(largest, 1.0)
    return corrected
