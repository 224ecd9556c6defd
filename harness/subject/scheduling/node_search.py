"""The search for a node on which a pod can run."""

from collections.abc import Iterable
from typing import Any

from harness.subject import dynamic_resources, nodes, scheduling_attempts

Object = dict[str, Any]


def first_fit(
    plugin: dynamic_resources.DynamicResources,
    attempt: scheduling_attempts.Attempt,
    known: Iterable[Object],
) -> tuple[Object, list[Object]] | None:
    """Return the first node that fits, with the planned allocations; None: there is none.

    The attempt counts why nodes were ruled out. Raises AttemptError if the attempt has to end.
    """
    for node in known:
        if refusal := nodes.refusal(node, attempt.pod):
            attempt.refusals[refusal] += 1
            continue
        allocations = plugin.filter(attempt, node)
        if allocations is not None:
            return node, allocations
    return None
