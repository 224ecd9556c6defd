"""The search for a node on which a pod can run, on one thread or on several.

After findNodesThatPassFilters, prioritizeNodes and selectHost in pkg/scheduler/schedule_one.go. If
nothing is scored, the first node that fits will do; otherwise a sample of the nodes is filtered and
the best of them chosen. Unlike upstream, the sample ends with a node than which none can be better.

Two defaults differ from kube-scheduler's. The search begins with the first node every time, not
where the one before it ended, so that all pods compete for the same devices. And one thread filters
the nodes: Python runs one thread at a time, so that more of them only cost time. For claims of
which 50 nodes are looked at, 4 threads take 1.2 times as long as one, and 16 take 2.4 times as long
(`make bench ARGS=scheduling`). They are there for the interleavings.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from harness import concurrency
from harness.subject import dynamic_resources, nodes, scheduling_attempts
from harness.subject.scheduling import node_scores

Object = dict[str, Any]
FEASIBLE_MIN = 100
"""With fewer nodes than this, all are filtered (upstream: minFeasibleNodesToFind)."""
FEASIBLE_PERCENT_MIN = 5
"""The least part of the nodes that has to fit before the search ends."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How nodes are searched."""

    parallelism: int = 1
    """Number of threads that filter nodes; kube-scheduler has 16."""
    rotates: bool = False
    """Begin where the search before ended, as kube-scheduler does."""


ALONE = SearchOptions()
"""One thread, which always begins with the first node."""


class NodeSearch:
    """Finds a node for each pod in turn."""

    def __init__(
        self, plugin: dynamic_resources.DynamicResources, options: SearchOptions = ALONE
    ) -> None:
        self._plugin, self._options = plugin, options
        self._start = 0
        """Index of the node to begin with."""

    def find(
        self, attempt: scheduling_attempts.Attempt, known: Sequence[Object]
    ) -> tuple[Object, list[Object]] | None:
        """Return the node to use, with the planned allocations; None: there is none.

        The attempt counts why nodes were ruled out. Raises AttemptError if the attempt has to end.
        """
        is_scored = node_scores.has_alternatives(attempt)
        wanted = feasible_count(len(known)) if is_scored else 1
        start = self._start % len(known) if known else 0
        ordered = [*known[start:], *known[:start]] if start else known
        open_nodes = [*without_refused(ordered, attempt.refused)]
        run = FilterRun(self._plugin, attempt, open_nodes, wanted)
        run.run(self._options.parallelism)
        if self._options.rotates and run.count:
            self._start = start + ordered.index(open_nodes[run.count - 1]) + 1
        if not run.fitting:
            _count_refused(attempt, known, open_nodes)
            return None
        best = node_scores.best(attempt, run.fitting) if is_scored else run.fitting[0]
        return best.node, best.allocations


class FilterRun:
    """The nodes of one attempt, filtered until enough of them fit."""

    def __init__(
        self,
        plugin: dynamic_resources.DynamicResources,
        attempt: scheduling_attempts.Attempt,
        ordered: Sequence[Object],
        wanted: int,
    ) -> None:
        self._plugin, self._attempt, self._ordered = plugin, attempt, ordered
        self._wanted = wanted
        self._guard = concurrency.lock("filter-run")
        self._found: list[node_scores.Fit] = []
        self._error: scheduling_attempts.AttemptError | None = None
        self.count = 0
        """Number of nodes that were taken up."""

    @property
    def fitting(self) -> list[node_scores.Fit]:
        """The nodes that fit, in the order of the search, at most as many as wanted."""
        return sorted(self._found, key=lambda fit: fit.index)[: self._wanted]

    def run(self, parallelism: int) -> None:
        """Filter the nodes on this thread and further ones, which have ended on return.

        Raises the AttemptError of the first node that has one.
        """
        if parallelism <= 1:
            self._run_alone()
            return
        more = min(parallelism, len(self._ordered)) - 1
        threads = [concurrency.spawn(f"filter-{index}", self._work) for index in range(more)]
        self._work()
        for thread in threads:
            thread.join()
        if self._error is not None:
            raise self._error

    def _run_alone(self) -> None:
        for index, node in enumerate(self._ordered):
            self.count = index + 1
            allocations = self._filter(node)
            if allocations is not None:
                self._found.append(node_scores.Fit(index, node, allocations))
                if self._has_enough(allocations):
                    return

    def _work(self) -> None:
        """Filter one node after the other, like every other thread of this run."""
        while (index := self._next()) is not None:
            node = self._ordered[index]
            concurrency.step("filter.started", node=node["metadata"]["name"])
            try:
                allocations = self._filter(node)
            except scheduling_attempts.AttemptError as error:
                self._fail(error)
            else:
                self._add(index, node, allocations)

    def _filter(self, node: Object) -> list[Object] | None:
        if refusal := nodes.refusal(node, self._attempt.pod):
            self._attempt.refuse(refusal)
            return None
        return self._plugin.filter(self._attempt, node)

    def _next(self) -> int | None:
        """Take up the next node; None: this is the end."""
        with self._guard:
            if self._attempt.is_stopped or self.count == len(self._ordered):
                return None
            self.count += 1
            return self.count - 1

    def _add(self, index: int, node: Object, allocations: list[Object] | None) -> None:
        if allocations is None:
            return
        with self._guard:
            self._found.append(node_scores.Fit(index, node, allocations))
            if self._has_enough(allocations):
                self._attempt.is_stopped = True

    def _has_enough(self, newest: list[Object]) -> bool:
        """Return whether no further node is needed after one with these allocations."""
        return len(self._found) >= self._wanted or node_scores.is_perfect(self._attempt, newest)

    def _fail(self, error: scheduling_attempts.AttemptError) -> None:
        with self._guard:
            self._error = self._error or error
            self._attempt.is_stopped = True


def without_refused(
    ordered: Sequence[Object], refused: Mapping[str, Object] | None
) -> Iterable[Object]:
    """Return the nodes that are not known to refuse the claims."""
    if not refused:
        return ordered
    return [node for node in ordered if refused.get(node["metadata"]["name"]) is not node]


def _count_refused(
    attempt: scheduling_attempts.Attempt, known: Sequence[Object], filtered: Iterable[Object]
) -> None:
    """Count the nodes that were not filtered because they are known to refuse the claims."""
    seen = set(map(id, filtered))
    for node in known:
        if id(node) not in seen:
            reason = nodes.refusal(node, attempt.pod)
            attempt.refuse(reason or scheduling_attempts.NOT_ALLOCATABLE)


def feasible_count(total: int) -> int:
    """Return how many nodes have to fit before the search ends (numFeasibleNodesToFind)."""
    if total < FEASIBLE_MIN:
        return total
    percent = max(50 - total // 125, FEASIBLE_PERCENT_MIN)
    return max(total * percent // 100, FEASIBLE_MIN)
