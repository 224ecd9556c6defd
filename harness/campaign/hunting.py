"""Executes a campaign: runs pytest with xdist in this process and collects the results."""

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import pytest

from harness import clocks, errors, writing
from harness.campaign import (
    campaign_plan,
    plugin,
    purposes,
    results,
    run_scheduling,
    sequential_stopping,
    summaries,
)
from harness.cluster import cluster_records

Listener = Callable[[results.RunResult], None]
_CONFIGURATION = """\
[pytest]
junit_suite_name = flake-hunt
junit_logging = system-out
"""


def hunt(
    plan: campaign_plan.CampaignPlan,
    folder: pathlib.Path,
    *,
    listener: Listener,
    kept: Sequence[results.RunResult] = (),
) -> list[results.RunResult]:
    """Execute the runs of the plan and return all results, in its order.

    `kept` are results that results.jsonl has already; the plan names their runs as done.

    The folder gets campaign.json, results.jsonl (with each result as it arrives) and junit.xml.
    Raises KeyboardInterrupt when interrupted, and HarnessError if pytest itself fails.
    """
    campaign = folder / plugin.PLAN_NAME
    plan = msgspec.structs.replace(plan, pid=os.getpid(), boot_id=clocks.boot_id())
    campaign_plan.write(campaign, plan)
    if plan.runs and len(plan.done) == len(plan.runs):
        return results.in_plan_order(kept)
    configuration = folder / "pytest.ini"
    writing.replace(configuration, _CONFIGURATION.encode())
    collector = _Collector(plan, folder / "results.jsonl", listener)
    cluster_records.mark_children()  # so that `cluster prune` finds workers of a killed campaign
    with cluster_records.temporary_folder() as temporary:
        arguments = _arguments(campaign, configuration, jobs=plan.jobs, temporary=temporary)
        with writing.explained(folder):
            ended = _without_other_plugins(lambda: pytest.main(arguments, plugins=[collector]))
    if collector.failure is not None:
        raise collector.failure
    if ended == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise errors.HarnessError(
            f"expected pytest to execute the campaign, but it ended with {ended}"
        )
    return results.in_plan_order([*kept, *collector.results])


def _arguments(
    campaign: pathlib.Path, configuration: pathlib.Path, *, jobs: int, temporary: pathlib.Path
) -> list[str]:
    """Return pytest's arguments; pytest would leave a temporary folder of its own behind."""
    folder = campaign.parent
    return [
        str(campaign),
        *("-c", str(configuration), "--rootdir", str(folder)),
        *("-p", "xdist.plugin", "-p", "harness.campaign.plugin"),
        *("-p", "no:cacheprovider", "-p", "no:terminal", "-p", "no:logging", "-s"),
        f"--junitxml={folder / summaries.JUNIT_NAME}",
        *("--numprocesses", str(jobs), "--dist", "load", "--maxschedchunk", "1"),
        "--max-worker-restart=0",
        f"--basetemp={temporary / 'pytest'}",
    ]


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
        self._planned = {run.id: run for run in plan.runs}
        self._path, self._listener = path, listener
        self._stopping = sequential_stopping.Stopping(plan, path.parent)
        self._scheduling: run_scheduling.RunScheduling | None = None
        self.results: list[results.RunResult] = []
        self.failure: errors.HarnessError | None = None
        """Why a result could not be written; None: all were.

        It is not raised in a hook, where it would become an internal error of pytest.
        """

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_xdist_make_scheduler(
        self, config: pytest.Config, log: Any
    ) -> run_scheduling.RunScheduling:
        """Return what hands the runs to the workers."""
        self._scheduling = run_scheduling.RunScheduling(config, log)
        return self._scheduling

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the results of a test, when one of its phases has ended in a worker."""
        if report.when == "call":
            for name, value in report.user_properties:
                if name == plugin.RESULT:
                    self._add(msgspec.json.decode(str(value), type=results.RunResult))
        if report.failed and plugin.JUDGED not in dict(report.user_properties):
            self._add(_broken(report, self._planned))

    def _add(self, result: results.RunResult) -> None:
        self.results.append(result)
        try:
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(result) + b"\n")
            if self._stopping.see(result) and self._scheduling is not None:
                self._scheduling.drop(self._is_needed)
        except OSError as error:
            self.failure = writing.explain(error, self._path)
        except errors.HarnessError as error:
            self.failure = error
        self._listener(result)

    def _is_needed(self, name: str) -> bool:
        return self._stopping.is_needed(self._planned[name])


def _broken(
    report: pytest.TestReport, planned: Mapping[str, campaign_plan.PlannedRun]
) -> results.RunResult:
    """Return the result of a run whose worker died or that ended with a bug of the harness."""
    name = report.nodeid.rpartition("::")[2]
    run = planned.get(name)
    return results.RunResult(
        number=run.number if run else 0,
        scenario=run.title if run else name,
        subject=run.subject if run else "",
        purpose=run.purpose if run else purposes.Purpose.SUBJECT,
        hypothesis=run.hypothesis if run else "",
        seconds=report.duration,
        error=str(report.longrepr)[-2000:],
    )


def _without_other_plugins(call: Callable[[], int | pytest.ExitCode]) -> int | pytest.ExitCode:
    """Call a function without the user's own pytest plugins and options."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.delenv("PYTEST_ADDOPTS", raising=False)
        patch.delenv("PYTEST_PLUGINS", raising=False)
        return call()
