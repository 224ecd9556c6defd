"""The search for a node on which a pod can run, on one thread or on several.

After findNodesThatPassFilters, prioritizeNodes and selectHost in pkg/scheduler/schedule_one.go. A
sample of the nodes is filtered and the best of them chosen; an error on any of them ends the
attempt. Unlike upstream, the sample ends with a node than which none can be better, unless a later
node may fail: if a selector cannot be evaluated on some device, or if a request asks for all
devices. A later node whose search would take too long is not looked at.

Two things differ from kube-scheduler. The nodes are searched in natural order, and of nodes with
equal scores the first is taken, so that all pods compete for the same devices; CPU and memory are
not looked at. And one thread filters the nodes, as Python runs one at a time: more of them are
there for the interleavings.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from harness import concurrency
from harness.model.objects import Object
from harness.subject.allocation import device_requests
from harness.subject.objects import change_handlers, nodes
from harness.subject.plugin import dynamic_resources, scheduling_attempts

FEASIBLE_MIN = 100
"""Number of nodes below which all are filtered (upstream: minFeasibleNodesToFind)."""
FEASIBLE_PERCENT_MIN = 5
"""The least part of the nodes that has to fit before the search ends."""
SCORE_MAX = 100
"""The highest score of a node (MaxNodeScore)."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How nodes are searched."""

    parallelism: int = 1
    """Number of threads that filter nodes; kube-scheduler has 16."""


ALONE = SearchOptions()
"""One thread, which always begins with the first node."""


@dataclasses.dataclass(frozen=True, slots=True)
class Fit:
    """A node that fits, with the planned allocations."""

    index: int
    """Place in the order of the search."""
    node: Object
    allocations: list[Object]


class NodeSearch:
    """Finds a node for each pod in turn."""

    def __init__(
        self,
        plugin: dynamic_resources.DynamicResources,
        options: SearchOptions = ALONE,
    ) -> None:
        self._plugin, self._parallelism = plugin, options.parallelism

    def find(
        self, attempt: scheduling_attempts.Attempt, known: Sequence[Object]
    ) -> tuple[Object, list[Object]] | None:
        """Return the node to use, with the planned allocations; None: there is none."""
        is_scored = self._plugin.is_scored(attempt)
        may_fail = attempt.allocator is not None and attempt.allocator.may_fail()
        wanted = feasible_count(len(known)) if is_scored or may_fail else 1
        ends_early = is_scored and not may_fail
        candidates = without_refused(known, attempt.refused)
        run = FilterRun(self._plugin, attempt, candidates, wanted, ends_early=ends_early)
        run.run(min(self._parallelism, len(known)))
        if not run.fitting:
            _count_refused(attempt, known, run.taken)
            return None
        best = run.fitting[0]
        if is_scored and len(run.fitting) > 1:
            scores = normalized([self._plugin.score(attempt, it.allocations) for it in run.fitting])
            best = run.fitting[scores.index(max(scores))]
        return best.node, best.allocations


class FilterRun:
    """The nodes of one attempt, filtered until enough of them fit."""

    def __init__(
        self,
        plugin: dynamic_resources.DynamicResources,
        attempt: scheduling_attempts.Attempt,
        candidates: Iterable[Object],
        wanted: int,
        *,
        ends_early: bool,
    ) -> None:
        """`wanted`: how many nodes that fit are enough; `ends_early`: a perfect one is, too."""
        self._plugin, self._attempt, self._left = plugin, attempt, iter(candidates)
        self._wanted, self._ends_early = wanted, ends_early
        self._guard = concurrency.lock("filter-run")
        self._found: list[Fit] = []
        self._error: scheduling_attempts.AttemptError | None = None
        self.taken: list[Object] = []
        """The nodes that were taken up."""

    @property
    def fitting(self) -> list[Fit]:
        return sorted(self._found, key=lambda fit: fit.index)[: self._wanted]

    def run(self, parallelism: int) -> None:
        """Filter the nodes on this thread and further ones. Raises AttemptError."""
        if parallelism <= 1:
            self._run_alone()
            return
        threads = [concurrency.spawn(f"filter-{n}", self._work) for n in range(parallelism - 1)]
        self._work()
        for thread in threads:
            thread.join()
        if self._error is not None:
            raise self._error

    def _run_alone(self) -> None:
        for index, node in enumerate(self._left):
            self.taken.append(node)
            allocations = self._filter(node)
            if allocations is not None:
                self._found.append(Fit(index, self.taken[index], allocations))
                if self._has_enough(allocations):
                    return

    def _work(self) -> None:
        while (index := self._next()) is not None:
            node = self.taken[index]
            concurrency.step("filter.started", node=node["metadata"]["name"])
            try:
                allocations = self._filter(node)
            except scheduling_attempts.AttemptError as error:
                self._fail(error)
            else:
                self._add(index, allocations)

    def _filter(self, node: Object) -> list[Object] | None:
        if refusal := nodes.refusal(node, self._attempt.pod):
            self._attempt.refuse(refusal)
            return None
        return self._plugin.filter(self._attempt, node)

    def _next(self) -> int | None:
        with self._guard:
            if self._attempt.is_stopped:
                return None
            for node in self._left:
                self.taken.append(node)
                return len(self.taken) - 1
            return None

    def _add(self, index: int, allocations: list[Object] | None) -> None:
        if allocations is None:
            return
        with self._guard:
            self._found.append(Fit(index, self.taken[index], allocations))
            if self._has_enough(allocations):
                self._attempt.is_stopped = True

    def _has_enough(self, newest: list[Object]) -> bool:
        if len(self._found) >= self._wanted:
            return True
        return self._ends_early and is_perfect(self._attempt, newest)

    def _fail(self, error: scheduling_attempts.AttemptError) -> None:
        with self._guard:
            self._error = self._error or error
            self._attempt.is_stopped = True


def without_refused(
    known: Iterable[Object], refused: Mapping[str, Object] | None
) -> Iterable[Object]:
    if not refused:
        return known
    return (node for node in known if refused.get(node["metadata"]["name"]) is not node)


def is_perfect(attempt: scheduling_attempts.Attempt, allocations: Sequence[Object]) -> bool:
    """Return whether the first alternative of every request is chosen: no node is better.

    False without alternatives: what else is compared is not known here.
    """
    most = sum(device_requests.SUBREQUESTS_MAX for _ in attempt.prioritized())
    return 0 < most == attempt.preference(allocations)


def normalized(scores: Sequence[int]) -> list[int]:
    """Return the scores as parts of the highest one, from 0 to SCORE_MAX, rounded down."""
    highest = max(scores, default=0)
    return [score * SCORE_MAX // highest if highest else 0 for score in scores]


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


class NodeList(change_handlers.Changes):
    """The known nodes; an event handler of their informer."""

    def __init__(self) -> None:
        super().__init__(self._replace)
        self._guard = concurrency.lock("node-list")
        self._nodes: dict[str, Object] = {}
        self._names: list[str] | None = None
        """Nodes in natural order; None after a node has come or gone."""
        self._listed: tuple[Object, ...] | None = None
        """None after any change."""

    def listed(self) -> Sequence[Object]:
        """Return the nodes in natural order; the same object until a node changes."""
        with self._guard:
            if self._names is None:
                self._names = sorted(self._nodes, key=nodes.natural_order)
            if self._listed is None:
                self._listed = tuple(map(self._nodes.__getitem__, self._names))
            return self._listed

    def _replace(self, old: Object | None, new: Object | None) -> None:
        with self._guard:
            if new is None and old:
                self._nodes.pop(old["metadata"]["name"], None)
            elif new:
                self._nodes[new["metadata"]["name"]] = new
            self._listed = None
            self._names = self._names if old and new else None
