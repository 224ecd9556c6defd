"""Random small histories, about which a check and a slow judge of the test have to agree."""

import collections
import os
from collections.abc import Callable, Hashable, Iterable

HISTORIES = int(os.environ.get("FLAKE_HUNT_HISTORIES", "3000"))


def agree(compare: Callable[[int], Iterable[Hashable]], *kinds: Hashable, one_in: int = 50) -> None:
    """Compare both for each seed; all these kinds of outcomes must come often enough."""
    counts: collections.Counter[Hashable] = collections.Counter()
    for seed in range(HISTORIES):
        try:
            counts.update(compare(seed))
        except AssertionError as error:
            raise AssertionError(f"they differ about seed {seed}: {error}") from error
    assert all(counts[kind] > HISTORIES // one_in for kind in kinds), counts
