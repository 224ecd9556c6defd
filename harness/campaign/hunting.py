"""Executes a campaign: runs pytest with xdist in this process and collects the results."""

import dataclasses
import os
import pathlib
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest
from xdist import scheduler
from xdist.workermanage import WorkerController

from harness import clocks, errors, prepared_processes, writing
from harness.campaign import (
    budgets,
    campaign_plan,
    endings,
    plugin,
    results,
)
from harness.campaign.endings import Ending
from harness.cluster import cluster_records


class RunScheduling(scheduler.LoadScheduling):  # type: ignore[misc]
    """The order of `--dist load`, but first each worker has one run, and only then another one."""

    def _send_tests(self, node: WorkerController, num: int) -> None:
        """Send a worker its next runs; at the start two, of which the others begin with none."""
        if num == 2 and not self.node2pending[node]:
            idle = sum(not pending for pending in self.node2pending.values())
            self.pending.insert(1, self.pending.pop(min(idle, len(self.pending) - 1)))
        super()._send_tests(node, num)

    def drop(self, is_needed: Callable[[str], bool]) -> None:
        """Forget the runs that no worker has yet and whose id is not needed."""
        names = self.collection or []
        self.pending[:] = [
            index for index in self.pending if is_needed(names[index].rpartition("::")[2])
        ]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hunted:
    """The results of a campaign, and how it ended."""

    results: list[results.RunResult]
    """All results, in the order of the plan."""
    ending: Ending = Ending.NONE
    """Why it did not make all runs. Only one with a time budget has results if interrupted."""


Listener = Callable[[results.RunResult], None]


def hunt(
    plan: campaign_plan.CampaignPlan,
    folder: pathlib.Path,
    *,
    listener: Listener,
    kept: Sequence[results.RunResult] = (),
) -> Hunted:
    """Execute the runs of the plan and return all results, in its order.

    `kept` are results that results.jsonl has already; the plan names their runs as done.

    The folder gets campaign.json, and results.jsonl with each result as it arrives.
    Raises KeyboardInterrupt when a campaign without time budget is interrupted, and HarnessError if
    pytest itself fails.
    """
    campaign = folder / plugin.PLAN_NAME
    plan = msgspec.structs.replace(plan, pid=os.getpid(), boot_id=clocks.boot_id())
    campaign_plan.write(campaign, plan)
    if plan.runs and len(plan.done) == len(plan.runs):
        return Hunted(results=results.in_plan_order(kept))
    collector = _Collector(plan, folder / "results.jsonl", listener)
    cluster_records.mark_children()  # so that `cluster prune` finds workers of a killed campaign
    with cluster_records.temporary_folder() as temporary:
        jobs = min(plan.jobs, len(plan.runs) - len(plan.done))
        arguments = _arguments(campaign, jobs=jobs, temporary=temporary)
        with writing.explained(folder):
            ended = _without_other_plugins(lambda: pytest.main(arguments, plugins=[collector]))
    if collector.failure is not None:
        raise collector.failure
    is_stopped = ended == pytest.ExitCode.INTERRUPTED
    if is_stopped and not plan.minutes:
        raise KeyboardInterrupt
    if ended not in (*_ENDS, pytest.ExitCode.INTERRUPTED):
        raise errors.HarnessError(
            f"expected pytest to execute the campaign, but it ended with {ended}"
        )
    ending = collector.ending
    if is_stopped and collector.budget.left_s() > 0:
        ending = Ending.INTERRUPTED
    collector.cut_begun(ending)
    found = results.in_plan_order([*kept, *collector.results])
    return Hunted(results=found, ending=ending if endings.not_made(plan, found) else Ending.NONE)


_ENDS = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


def _arguments(campaign: pathlib.Path, *, jobs: int, temporary: pathlib.Path) -> list[str]:
    """Return pytest's arguments; pytest would leave a temporary folder of its own behind."""
    return [
        str(campaign),
        *("-c", os.devnull, "--rootdir", str(campaign.parent)),
        *("-p", "xdist.plugin", "-p", "harness.campaign.plugin"),
        *("-p", "no:cacheprovider", "-p", "no:terminal", "-p", "no:logging", "-s"),
        *("-p", "no:unraisableexception", "-p", "no:threadexception"),
        *(_workers(jobs) if jobs else ()),
        "--max-worker-restart=0",
        f"--basetemp={temporary / 'pytest'}",
    ]


def _workers(jobs: int) -> tuple[str, ...]:
    """Return the options for worker processes, which import nothing from the current folder."""
    python = shlex.join(prepared_processes.PYTHON)
    spec = f"{jobs}*popen//python={python}"
    return ("--tx", spec, "--dist", "load", "--maxschedchunk", "1")


def new_folder(reports: pathlib.Path, seed: int) -> pathlib.Path:
    """Create and return an empty folder, `<reports>/campaigns/<start>-<seed>`."""
    start = clocks.wall_text().replace("-", "").replace(":", "")
    folder = reports / "campaigns" / f"{start}-{seed}"
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise writing.explain(error, folder) from error
    return folder.resolve()


class _Collector:
    """A pytest plugin that collects the results in the controlling process."""

    def __init__(
        self, plan: campaign_plan.CampaignPlan, path: pathlib.Path, listener: Listener
    ) -> None:
        self._plan, self._planned = plan, {run.id: run for run in plan.runs}
        self._has_ended = False
        """A run has ended the campaign."""
        self._begun: dict[str, float] = {}
        """Names of the runs that workers have begun and not ended -> the time of the begin."""
        self._path, self._listener = path, listener
        self.budget = budgets.Budget(plan, path.parent)
        self._scheduling: RunScheduling | None = None
        self.results: list[results.RunResult] = []
        self.failure: errors.HarnessError | None = None
        """Why a result could not be written; None: all were.

        It is not raised in a hook, where it would become an internal error of pytest.
        """

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> RunScheduling:
        """Return what hands the runs to the workers."""
        self._scheduling = RunScheduling(config, log)
        return self._scheduling

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that a worker begins a run."""
        self._begun[nodeid.rpartition("::")[2]] = time.monotonic()

    @property
    def ending(self) -> Ending:
        """Why it ends before all runs are made: a run ended it, or nothing."""
        return Ending.FIRST if self._has_ended else Ending.NONE

    def cut_begun(self, ending: Ending) -> None:
        """Add the results of the runs that workers had begun when they were stopped."""
        for name, since in self._begun.items():
            if name in self._planned:
                seconds, run = time.monotonic() - since, self._planned[name]
                self._add(budgets.cut(run, seconds=seconds, ending=ending))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the results of a test, when one of its phases has ended in a worker."""
        if report.when == "teardown":
            self._begun.pop(report.nodeid.rpartition("::")[2], None)
        if self._scheduling is not None and self._plan.minutes:
            self._scheduling.drop(lambda name: self.budget.has_time_for(self._planned[name]))
        if report.when == "call":
            for name, value in report.user_properties:
                if name == plugin.RESULT:
                    self._add(msgspec.json.decode(str(value), type=results.RunResult))
        if report.failed and self.budget.left_s() > 0:  # else the worker was interrupted
            self._add(_broken(report, self._planned))

    def _add(self, result: results.RunResult) -> None:
        self.results.append(result)
        try:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(result) + b"\n")
            self._end_at(result)
        except OSError as error:
            self.failure = writing.explain(error, self._path)
        except errors.HarnessError as error:
            self.failure = error
        self._listener(result)

    def _end_at(self, result: results.RunResult) -> None:
        """End the campaign if this is the last attempt of a run, and it is not as expected."""
        if not self._plan.exit_first or self._has_ended:
            return
        if result.is_as_expected or result.cut or result.is_tried_again:
            return
        self._has_ended = True
        endings.end(self._path.parent)
        if self._scheduling is not None:
            self._scheduling.drop(lambda _: False)


def _broken(
    report: pytest.TestReport, planned: Mapping[str, campaign_plan.PlannedRun]
) -> results.RunResult:
    """Return the result of a run whose worker died or that ended with a bug of the harness."""
    name = report.nodeid.rpartition("::")[2]
    run = planned.get(name)
    said: dict[str, Any] = {"seconds": report.duration, "error": str(report.longrepr)[-2000:]}
    return run.result(**said) if run else results.RunResult(scenario=name, subject="", **said)


def _without_other_plugins(call: Callable[[], int | pytest.ExitCode]) -> int | pytest.ExitCode:
    """Call a function without the user's own pytest plugins and options."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.delenv("PYTEST_ADDOPTS", raising=False)
        patch.delenv("PYTEST_PLUGINS", raising=False)
        return call()
