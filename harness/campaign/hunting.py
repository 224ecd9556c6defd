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
from xdist.scheduler import LoadScheduling

from harness import clocks, errors, prepared_processes, writing
from harness.campaign import budgets, campaign_plan, plugin
from harness.campaign.budgets import Ending
from harness.cluster import cluster_records
from harness.history import campaign_folders, results


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hunted:
    """The results of a campaign, and how it ended."""

    results: list[results.RunResult]
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
    campaign = folder / campaign_folders.PLAN
    plan = msgspec.structs.replace(plan, pid=os.getpid(), boot_id=clocks.boot_id())
    campaign_plan.write(campaign, plan)
    if plan.runs and len(plan.done) == len(plan.runs):
        return Hunted(results=results.in_plan_order(kept))
    collector = _Collector(plan, folder, listener)
    with cluster_records.temporary_folder() as temporary:
        jobs = min(plan.jobs, len(plan.runs) - len(plan.done))
        arguments = _arguments(campaign, jobs=jobs, temporary=temporary)
        with writing.explained(folder), pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # the user's own, as the options
            patch.delenv("PYTEST_ADDOPTS", raising=False)
            patch.delenv("PYTEST_PLUGINS", raising=False)
            ended = pytest.main(arguments, plugins=[collector])
    if collector.failure is not None:
        raise collector.failure
    is_stopped = ended == pytest.ExitCode.INTERRUPTED
    if is_stopped and not plan.minutes:
        raise KeyboardInterrupt
    if ended not in (*_ENDS, pytest.ExitCode.INTERRUPTED):
        raise errors.HarnessError(
            f"expected pytest to execute the campaign, but it ended with {ended}"
        )
    is_early = is_stopped and collector.budget.left_s() > 0
    ending = Ending.INTERRUPTED if is_early else collector.budget.ending
    collector.cut_begun(ending)
    found = results.in_plan_order([*kept, *collector.results])
    return Hunted(results=found, ending=ending if budgets.not_made(plan, found) else Ending.NONE)


_ENDS = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)


def _arguments(campaign: pathlib.Path, *, jobs: int, temporary: pathlib.Path) -> list[str]:
    """Workers import nothing from the current folder; pytest's own one would be left behind."""
    workers = f"{jobs}*popen//python={shlex.join(prepared_processes.PYTHON)}"
    return [
        str(campaign),
        *("-c", os.devnull, "--rootdir", str(campaign.parent)),
        *("-p", "xdist.plugin", "-p", "harness.campaign.plugin"),
        *("-p", "no:cacheprovider", "-p", "no:terminal", "-p", "no:logging", "-s"),
        *("-p", "no:unraisableexception", "-p", "no:threadexception"),
        *(("--tx", workers, "--dist", "load", "--maxschedchunk", "1") if jobs else ()),
        "--max-worker-restart=0",
        f"--basetemp={temporary / 'pytest'}",
    ]


def new_folder(reports: pathlib.Path, seed: int) -> pathlib.Path:
    """Create and return an empty folder, `<reports>/campaigns/<start>-<seed>`."""
    start = clocks.wall_text().replace("-", "").replace(":", "")
    folder = reports / "campaigns" / f"{start}-{seed}"
    with writing.explained(folder):
        folder.mkdir(parents=True)
    return folder.resolve()


class _Collector:
    """A pytest plugin that collects the results in the controlling process."""

    def __init__(
        self, plan: campaign_plan.CampaignPlan, folder: pathlib.Path, listener: Listener
    ) -> None:
        self._plan, self._planned = plan, {run.id: run for run in plan.runs}
        self._begun: dict[str, float] = {}
        """Names of the runs that workers have begun and not ended -> the time of the begin."""
        self._path, self._listener = folder / results.FILE, listener
        self.budget = budgets.Budget(plan, folder)
        self._scheduling: LoadScheduling | None = None
        self.results: list[results.RunResult] = []
        self.failure: errors.HarnessError | None = None
        """Why a result could not be written; None: all were.

        It is not raised in a hook, where it would become an internal error of pytest.
        """

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> LoadScheduling:
        self._scheduling = LoadScheduling(config, log)
        return self._scheduling

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._begun[_name(nodeid)] = time.monotonic()

    def cut_begun(self, ending: Ending) -> None:
        """Add the results of the runs that workers had begun when they were stopped."""
        for name, since in self._begun.items():
            if name in self._planned:
                seconds, run = time.monotonic() - since, self._planned[name]
                self._add(budgets.cut(run, seconds=seconds, ending=ending))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the results of a test, when one of its phases has ended in a worker."""
        if report.when == "teardown":
            self._begun.pop(_name(report.nodeid), None)
        if report.when == "call":
            for name, value in report.user_properties:
                if name == plugin.RESULT:
                    self._add(msgspec.json.decode(str(value), type=results.RunResult))
        if report.failed and self.budget.left_s() > 0:  # else the worker was interrupted
            self._add(_broken(report, self._planned))
        if self._plan.minutes or self._plan.exit_first:
            self._forget_late()

    def _forget_late(self) -> None:
        if self._scheduling is not None:
            names = self._scheduling.collection or []
            self._scheduling.pending[:] = [
                index
                for index in self._scheduling.pending
                if self.budget.has_time_for(self._planned[_name(names[index])])
            ]

    def _add(self, result: results.RunResult) -> None:
        self.results.append(result)
        is_last = not (result.cut or result.is_tried_again)
        try:
            with self._path.open("ab") as file:
                file.write(results.encode([result]))
            if self._plan.exit_first and is_last and not result.is_as_expected:
                self.budget.end()
        except OSError as error:
            self.failure = writing.explain(error, self._path)
        except errors.HarnessError as error:
            self.failure = error
        self._listener(result)


def _name(nodeid: str) -> str:
    return nodeid.rpartition("::")[2]


def _broken(
    report: pytest.TestReport, planned: Mapping[str, campaign_plan.PlannedRun]
) -> results.RunResult:
    """Return the result of a run whose worker died or that ended with a bug of the harness."""
    name = _name(report.nodeid)
    run = planned.get(name)
    said: dict[str, Any] = {"seconds": report.duration, "error": str(report.longrepr)[-2000:]}
    return run.result(**said) if run else results.RunResult(scenario=name, subject="", **said)
