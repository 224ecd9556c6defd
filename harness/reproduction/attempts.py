"""Executes the runs of a reproduction, one after another, on one cluster."""

import contextlib
import pathlib
import shutil
from collections.abc import Callable

from harness import errors, seeds
from harness.checks import device_exclusivity, verdicts
from harness.cluster import interfaces
from harness.cluster.lifecycle import held_clusters
from harness.history import plans
from harness.reproduction import issue_texts, original_runs, scenario_files, shrinking
from harness.run import run_plan, runs
from harness.scenario import loading, profiles, specs

ERRORS_MAX = 3
"""Runs in a row that could not be executed, after which the reproduction is given up."""
INVALID = verdicts.Verdict.INVALID


class Attempts:
    """Runs scenarios with the original run's subject and seeds derived from its seed.

    A context manager; it holds a cluster from the first run to its end.
    """

    def __init__(
        self,
        original: original_runs.OriginalRun,
        profile: profiles.Profile,
        folder: pathlib.Path,
        *,
        show: Callable[[str], None] = shrinking.silent,
    ) -> None:
        """`folder` is for run directories and the cluster's files; `show` gets each run's size."""
        self._original, self._profile, self._folder = original, profile, folder
        self._show = show
        self._holding = contextlib.ExitStack()
        self._cluster: interfaces.Cluster | None = None
        self._errors = 0
        self.count = 0
        """Number of runs that were begun."""

    def __enter__(self) -> "Attempts":
        return self

    def __exit__(self, *error: object) -> None:
        self._holding.close()

    def make(self, scenario: specs.Scenario) -> shrinking.Attempt:
        """Run a scenario once.

        A run that cannot be executed counts as one that did not fail. Raises UsageError for a
        scenario that cannot work, and the error of the last run after ERRORS_MAX such runs.
        """
        seed = seeds.Seeds(self._original.plan.seed).derive("reproduce", self.count + 1)
        plan = self.plan(scenario, seed=seed)
        self.count += 1
        self._show(f"run {self.count}: {issue_texts.sizes(scenario)}")
        try:
            attempt = self._execute(scenario, plan)
        except errors.UsageError:
            raise
        except errors.HarnessError as error:
            self._errors += 1
            if self._errors >= ERRORS_MAX:
                raise
            return shrinking.Attempt(failed=False, reason=str(error))
        self._errors = 0
        return attempt

    def plan(self, scenario: specs.Scenario, *, seed: int) -> plans.Plan:
        """Return the plan of a run. Raises UsageError for a scenario that cannot work."""
        plan, check = self._original.plan, self._original.check
        is_special = plan.carrier == "proxy" and self._profile.provider == "embedded"
        return run_plan.plan(
            self._loaded(scenario),
            seed=seed,
            defects=plan.defects,
            remedies=plan.remedies,
            cluster=self._profile,
            until_found=check.check == device_exclusivity.CHECK.name,
            fault_carrier="proxy" if is_special else "auto",
        )

    def _execute(self, scenario: specs.Scenario, plan: plans.Plan) -> shrinking.Attempt:
        directory = runs.new_directory(plan, self._folder)
        judgement = runs.run(self._loaded(scenario), plan, directory, cluster=self._living())
        broken = (item.check for item in judgement.checks if item.verdict is INVALID)
        reason = f"{judgement.verdict}: {judgement.reason}"
        if self._original.check.check in broken:
            return shrinking.Attempt(failed=True, reason=reason, directory=directory.path)
        shutil.rmtree(directory.path, ignore_errors=True)
        return shrinking.Attempt(failed=False, reason=reason)

    def _loaded(self, scenario: specs.Scenario) -> loading.Loaded:
        return loading.Loaded(
            scenario=scenario,
            text=scenario_files.text(scenario),
            path=self._folder / scenario_files.FILE,
            given=scenario_files.FILE,
            pool_objects=self._original.pool_objects,
        )

    def _living(self) -> interfaces.Cluster:
        if self._cluster is None or self._cluster.exit_report() is not None:
            self._holding.close()
            self._cluster = None
            name = f"flake-hunt-{self._original.plan.run_id}-{self.count}"
            request = interfaces.ClusterRequest(name=name, directory=self._folder / name)
            holding = held_clusters.held(self._profile, request)
            self._cluster = self._holding.enter_context(holding)
        return self._cluster
