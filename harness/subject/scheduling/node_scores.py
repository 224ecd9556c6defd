"""Which of several nodes is best: the one on which earlier alternatives of requests are chosen.

After Score and NormalizeScore of the DynamicResources plugin. Of nodes with equal scores the first
is taken, where kube-scheduler draws one, so that all pods compete for the same devices.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from harness.subject import scheduling_attempts
from harness.subject.allocation import results

Object = dict[str, Any]
SCORE_MAX = 100
"""The highest score of a node (MaxNodeScore)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fit:
    """A node that fits, with the planned allocations."""

    index: int
    """Place in the order of the search."""
    node: Object
    allocations: list[Object]


def has_alternatives(attempt: scheduling_attempts.Attempt) -> bool:
    """Return whether a claim to allocate has a prioritized list; without one nothing is scored."""
    return any(
        request.get("firstAvailable")
        for index in attempt.to_allocate
        for request in (attempt.claims[index]["spec"].get("devices") or {}).get("requests") or ()
    )


def best(attempt: scheduling_attempts.Attempt, fitting: Sequence[Fit]) -> Fit:
    """Return the node with the highest score, the first of equals; there must be one."""
    wanted = [attempt.claims[index] for index in attempt.to_allocate]
    scores = normalized(
        [results.preference(wanted, fit.allocations[: len(wanted)]) for fit in fitting]
    )
    return fitting[scores.index(max(scores))]


def normalized(scores: Sequence[int]) -> list[int]:
    """Return the scores as parts of the highest one, from 0 to SCORE_MAX, rounded down."""
    highest = max(scores, default=0)
    return [score * SCORE_MAX // highest if highest else 0 for score in scores]
