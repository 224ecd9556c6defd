"""Compares the subject with the solver, pod by pod of a problem.

If the solver finds nothing on a node, the pod must not go there; if it finds something on a node,
the pod must be scheduled, to a node of which alternatives that come earliest can be had, with the
first right assignment of that node. These are exceptions, because kube-scheduler does so too:

- The attempt ends if a constraint refuses a device which a request for all asks for. The subject
  may find more than kube-scheduler, as it does not try what is known to fail.
- A selector that fails on a device ends the attempt, if the device is looked at.
- A claim that needs more than 32 devices ends the attempt, also if another node has fewer.
"""

import collections
from collections.abc import Sequence
from typing import Any

from harness.subject import assembling
from harness.subject.plugin import scheduling_attempts
from harness.subject.scheduling import schedulers
from tests.model_based.allocation import granted, problems, solving, supplies, uses
from tests.support import api_objects, lone_schedulers

Object = dict[str, Any]
ENDS = ("constraint would not be satisfied", "CEL", "exceeds the claim limit")
"""Parts of the errors that may end an attempt."""


class DisagreementError(AssertionError):
    """The subject's answer is wrong, by the rules of the solver."""


class NodeAnswer:
    """The answer of the solver for one node: `rows`, or why there are none."""

    def __init__(self, solver: solving.Solver, claims: Sequence[Object]) -> None:
        self.rows: list[solving.Row] | None = None
        self.outcome = "allocated"
        try:
            self.rows = solver.solve(claims)
            if self.rows is None:
                self.outcome = "none"
        except solving.NodeRefused:
            self.outcome = "node refused"
        except solving.AttemptEnds:
            self.outcome = "too many devices"
        except solving.GaveUp:
            self.outcome = "given up"
        self.may_end = (
            solver.has_failing_selector
            or solver.has_violating_device
            or self.outcome == "too many devices"
        )

    @property
    def rank(self) -> int:
        labels = {(row.claim, row.label): row for row in self.rows or ()}
        return sum(int(label.rpartition("/s")[2]) for _, label in labels if "/" in label)


class Comparison:
    """One problem, played on a subject; `outcomes` counts how its pods ended."""

    def __init__(
        self, problem: problems.Problem, parts: schedulers.SchedulerParts | None = None
    ) -> None:
        """`parts` None: those of the default subject."""
        self._problem = problem
        self._scheduler = lone_schedulers.LoneScheduler(parts)
        self._slices = {piece["metadata"]["name"]: piece for piece in problem.slices}
        self._classes = {item["metadata"]["name"]: item for item in problem.classes}
        self._claims = {item["metadata"]["name"]: item for item in problem.claims}
        self.outcomes: collections.Counter[str] = collections.Counter()
        self._begin()

    def _begin(self) -> None:
        for node in self._problem.nodes:
            self._scheduler.add_node(node)
        for item in self._problem.classes:
            self._scheduler.add_class(item)
        for piece in self._problem.slices:
            self._scheduler.tracker.on_add(piece, initial=True)
        for claim in self._problem.claims:
            self._scheduler.cache.on_add(claim, initial=True)

    def run(self) -> None:
        for step in self._problem.steps:
            if isinstance(step, problems.SliceChange):
                self._scheduler.tracker.on_update(step.old, step.new)
                self._slices[step.new["metadata"]["name"]] = step.new
            elif isinstance(step, problems.ClaimGoes):
                claim = self._claims.pop(step.name, None)
                if claim is not None:
                    self._scheduler.cache.on_delete(claim)
            elif not self._compare(step):
                return

    # ------------------------------------------------------------------- one pod

    def _compare(self, pod: problems.Pod) -> bool:
        """Compare what becomes of a pod; return False if the solver has given up."""
        answers = self._answers(pod)
        node, planned = self._decision(pod)
        outcomes = [answer.outcome for answer in answers.values()]
        self.outcomes.update(f"outcome: {outcome}" for outcome in outcomes)
        if "given up" in outcomes:
            return False
        if node is None:
            self._judge_refusal(pod, answers, planned)
        else:
            self._judge_allocation(pod, answers, node, planned)
        return True

    def _answers(self, pod: problems.Pod) -> dict[str, NodeAnswer]:
        held = [self._claims[name] for name in pod.used if name in self._claims]
        used = uses.Uses(claim["status"]["allocation"] for claim in self._claims.values())
        found = {}
        for node in self._problem.nodes:
            selectors = [claim["status"]["allocation"].get("nodeSelector") for claim in held]
            if len(held) == len(pod.used) and all(supplies.selects(s, node) for s in selectors):
                supply = supplies.Supply([*self._slices.values()], node)
                solver = solving.Solver(supply, used, self._classes)
                found[node["metadata"]["name"]] = NodeAnswer(solver, pod.own)
        return found

    def _decision(self, pod: problems.Pod) -> tuple[str | None, Any]:
        """Return node and allocations; without a node, the reason."""
        for claim in pod.own:
            self._scheduler.cache.on_add(claim, initial=False)
        names = [*(claim["metadata"]["name"] for claim in pod.own), *pod.used]
        document = api_objects.known_pod(pod.name, use=names)
        try:
            attempt, node = self._scheduler.decide(document)
        except (scheduling_attempts.Unschedulable, scheduling_attempts.AttemptError) as reason:
            return None, reason
        return node, lone_schedulers.allocations(attempt)

    def _judge_refusal(
        self, pod: problems.Pod, answers: dict[str, NodeAnswer], reason: Exception
    ) -> None:
        is_error = isinstance(reason, scheduling_attempts.AttemptError)
        if is_error and not any(part in str(reason) for part in ENDS):
            raise DisagreementError(f"{pod.name}: {reason}")
        if any(answer.may_end for answer in answers.values()) and is_error:
            self.outcomes["outcome: attempt ended"] += 1
            return
        if is_error or any(answer.rows is not None for answer in answers.values()):
            raise DisagreementError(f"{pod.name} is refused, though devices can be had: {reason}")

    def _judge_allocation(
        self, pod: problems.Pod, answers: dict[str, NodeAnswer], name: str, planned: Any
    ) -> None:
        answer = answers.get(name)
        if answer is None or answer.rows is None:
            raise DisagreementError(
                f"{pod.name} is scheduled to {name}, where it cannot be: {planned}"
            )
        best = min(it.rank for it in answers.values() if it.rows is not None)
        if answer.rank > best:
            raise DisagreementError(f"{pod.name}: {name} has later alternatives than another node")
        nodes = sorted(self._problem.nodes, key=lambda node: node["metadata"]["name"] != name)
        for index, claim in enumerate(pod.own):
            rows = [row for row in answer.rows if row.claim == index]
            allocation = planned[claim["metadata"]["name"]]
            right = granted.expected(claim, rows, self._classes, nodes)
            given = granted.said(allocation, nodes)
            if given != right:
                raise DisagreementError(
                    f"{claim['metadata']['name']}: expected {right}, got {given}"
                )
            self._claims[claim["metadata"]["name"]] = {
                **claim,
                "status": {"allocation": allocation},
            }


def compare(seed: int, parts: schedulers.SchedulerParts | None = None) -> collections.Counter[str]:
    """Compare one problem; return in how many problems (0 or 1) each feature and outcome is.

    Raises DisagreementError, or what the subject raises.
    """
    problem = problems.Problem(seed)
    comparison = Comparison(problem, parts)
    comparison.run()
    return collections.Counter([*problem.features, *comparison.outcomes])


def is_found(seed: int, defects: Sequence[str]) -> bool:
    """Return whether a problem disagrees with these defects, in whatever way."""
    try:
        compare(seed, assembling.parts(defects))
    except Exception:  # a defect may end in any way
        return True
    return False
