"""A pytest plugin that collects campaign.json as tests, one for each planned run.

Each worker executes its runs on one cluster. The results of all attempts reach the controlling
process as properties of the test, which fails only if the harness does.
"""

import contextlib
import math
import os
import pathlib
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from harness import bound_processes, errors, writing
from harness.campaign import budgets, campaign_plan
from harness.checks import verdict_files
from harness.cluster import interfaces
from harness.cluster.lifecycle import held_clusters
from harness.history import campaign_folders, directories, results, run_folders
from harness.run import progressing, runs
from harness.scenario import profiles

RESULT = "flake-hunt-result"
"""Name of the test property with the result of one attempt, in JSON."""
AGAIN_S = 0.01
"""Seconds after which an interruption is tried again that came where exceptions are lost."""
_CONTROLLER = "flake-hunt-controller"
"""Key of the worker input with the pid of the controlling process."""


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Send the pid of the controlling process to a worker that is about to start."""
    node.workerinput[_CONTROLLER] = os.getpid()


def pytest_configure(config: pytest.Config) -> None:
    """Make a worker die with the controlling process; its own processes die with it.

    SIGTERM interrupts a worker as SIGINT does: `timeout` and batch systems send it to all processes
    of a campaign, and a worker that died at once would leave its cluster behind.
    """
    controller = getattr(config, "workerinput", {}).get(_CONTROLLER)
    if controller is not None:
        bound_processes.die_with(controller)
        signal.signal(signal.SIGTERM, _interrupt)
        sys.unraisablehook = _interrupt_again


def _interrupt_again(lost: Any) -> None:
    """Python only prints an interruption that comes in `__del__` and callbacks."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, AGAIN_S)


def _interrupt(number: int, frame: object) -> None:
    """Raise KeyboardInterrupt, once: a second signal must not end the clean-up."""
    del frame
    signal.signal(number, lambda *_: None)
    raise KeyboardInterrupt


def _limit(config: pytest.Config, budget: budgets.Budget) -> None:
    """A cluster that is being created, or a judge, does not end at the budget's end."""
    if hasattr(config, "workerinput") and budget.left_s() < math.inf:
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, max(budget.left_s() + budgets.GRACE_S, 0.001))


def pytest_collect_file(
    file_path: pathlib.Path, parent: pytest.Collector
) -> pytest.Collector | None:
    if file_path.name != campaign_folders.PLAN:
        return None
    file: pytest.Collector = CampaignFile.from_parent(parent, path=file_path)
    return file


class CampaignFile(pytest.File):
    """The planned runs of a campaign."""

    def collect(self) -> Iterator[pytest.Item]:
        plan = campaign_plan.read(self.path)
        budget = budgets.Budget(plan, self.path.parent)
        _limit(self.config, budget)
        for run in plan.runs:
            if run.number not in plan.done:
                yield RunItem.from_parent(self, name=run.id, plan=plan, run=run, budget=budget)


class RunItem(pytest.Item):
    """A planned run as a pytest item."""

    def __init__(
        self,
        name: str,
        parent: pytest.Collector,
        *,
        plan: campaign_plan.CampaignPlan,
        run: campaign_plan.PlannedRun,
        budget: budgets.Budget,
    ) -> None:
        super().__init__(name, parent)
        self._plan, self._run, self._budget = plan, run, budget

    def runtest(self) -> None:
        """Execute the run, repeatedly if it misses what it must find."""
        if not self._budget.has_time_for(self._run):
            return
        for attempt in range(self._run.purpose.attempts):
            result = self._attempt(attempt)
            self.user_properties.append((RESULT, msgspec.json.encode(result).decode()))
            if result.error or result.is_found or self._budget.left_s(self._run) <= 0:
                return

    def reportinfo(self) -> tuple[pathlib.Path, int | None, str]:
        return self.path, None, self.name

    def _attempt(self, attempt: int) -> results.RunResult:
        started = time.monotonic()
        deadline = progressing.Deadline(lambda: self._budget.left_s(self._run))
        said: dict[str, Any]
        try:
            directory, judgement = self._execute(attempt, deadline)
            verdict = msgspec.convert(msgspec.to_builtins(judgement), run_folders.Verdict)
            said = {"directory": str(directory.path), "reason": judgement.reason}
            said |= verdict.of_result
        except errors.HarnessError as error:
            said = {"error": str(error), "is_usage_error": isinstance(error, errors.UsageError)}
        except OSError as error:
            if not writing.is_of_writing(error):
                raise
            said = {"error": str(writing.explain(error))}
        seconds = time.monotonic() - started
        result = self._run.result(seconds=seconds, attempt=attempt, **said)
        if not deadline.has_cut or result.is_found or result.error:
            return result
        known = budgets.cut(self._run, seconds=seconds, ending=self._budget.ending)
        return msgspec.structs.replace(known, directory=result.directory, attempt=attempt)

    def _execute(
        self, attempt: int, deadline: progressing.Deadline
    ) -> tuple[directories.RunDirectory, verdict_files.Judgement]:
        loaded, plan = campaign_plan.resolve(self._plan, self._run, attempt=attempt)
        plan = msgspec.structs.replace(plan, campaign=self.path.parent.name, jobs=self._plan.jobs)
        directory = runs.new_directory(plan, pathlib.Path(self._plan.reports))
        worker = getattr(self.config, "workerinput", {}).get("workerid", "main")  # as xdist says
        name = f"flake-hunt-{plan.run_id}-{worker}"
        suited = profiles.restore(plan.cluster_profile)
        cluster = _cluster_of(self.config, suited, name=name, folder=self.path.parent)
        return directory, runs.run(loaded, plan, directory, cluster=cluster, deadline=deadline)


# --------------------------------------------------------------------------- the worker's cluster

_HELD = pytest.StashKey[tuple[interfaces.Cluster, profiles.Profile, contextlib.ExitStack]]()


def _cluster_of(
    config: pytest.Config, profile: profiles.Profile, *, name: str, folder: pathlib.Path
) -> interfaces.Cluster:
    """Return the living cluster of this worker and profile, or a new one of this name."""
    cluster, held_profile, _ = config.stash.get(_HELD, (None, None, None))
    if cluster is None or held_profile != profile or cluster.exit_report() is not None:
        pytest_unconfigure(config)
        holding = contextlib.ExitStack()
        request = interfaces.ClusterRequest(name=name, directory=folder / "clusters" / name)
        cluster = holding.enter_context(held_clusters.held(profile, request))
        config.stash[_HELD] = cluster, profile, holding
    return cluster


def pytest_unconfigure(config: pytest.Config) -> None:
    if _HELD in config.stash:
        *_, holding = config.stash[_HELD]
        del config.stash[_HELD]
        holding.close()
