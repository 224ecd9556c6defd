"""Which of several nodes is best: the one on which earlier alternatives of requests are chosen.

After Score and NormalizeScore of the DynamicResources plugin, whose weight is 1. Scores of other
plugins are added if there are any. Of nodes with equal scores the first is taken, where
kube-scheduler draws one, so that all pods compete for the same devices.
"""

import dataclasses
from collections.abc import Callable, Sequence

from harness.model.objects import Object
from harness.subject.allocation import device_requests
from harness.subject.plugin import scheduling_attempts

SCORE_MAX = 100
"""The highest score of a node (MaxNodeScore)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fit:
    """A node that fits, with the planned allocations."""

    index: int
    """Place in the order of the search."""
    node: Object
    allocations: list[Object]
    score: int = 0
    """The score of the other plugins."""


def is_perfect(attempt: scheduling_attempts.Attempt, allocations: Sequence[Object]) -> bool:
    """Return whether the first alternative of every request is chosen: no node is better.

    False without alternatives: what else is compared is not known here.
    """
    most = sum(device_requests.SUBREQUESTS_MAX for _ in attempt.prioritized())
    return 0 < most == attempt.preference(allocations)


def best(fitting: Sequence[Fit], score: Callable[[list[Object]], int]) -> Fit:
    """Return the node with the highest score, the first of equals; there must be one.

    `score` returns the plugin's score of planned allocations.
    """
    preferences = normalized([score(fit.allocations) for fit in fitting])
    scores = [preference + fit.score for preference, fit in zip(preferences, fitting, strict=True)]
    return fitting[scores.index(max(scores))]


def normalized(scores: Sequence[int]) -> list[int]:
    """Return the scores as parts of the highest one, from 0 to SCORE_MAX, rounded down."""
    highest = max(scores, default=0)
    return [score * SCORE_MAX // highest if highest else 0 for score in scores]
