"""The run to reproduce: its violation, and its scenario as it can be run again elsewhere."""

import dataclasses
import pathlib

import pydantic

from harness import errors
from harness.checks import judging, verdicts
from harness.cluster import providers
from harness.history import directories, plans
from harness.reproduction import scenario_files, smaller_scenarios
from harness.run import fault_planning, subjects
from harness.scenario import (
    imported_pools,
    pool_specs,
    profiles,
    script_specs,
    specs,
    subject_specs,
)
from harness.scenario.toml_files import documents


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OriginalRun:
    """An INVALID run."""

    plan: plans.Plan
    scenario: specs.Scenario
    """The scenario without anything that belongs to this run or to campaigns."""
    pool_objects: imported_pools.Imported | None
    """The objects of `pools.from`; None: the scenario names no files."""
    check: verdicts.CheckResult
    """The first check that it failed; a reproduction has to fail the same one."""

    @property
    def caution(self) -> str:
        """That its violation is known and not one of a scheduler's own; empty: it is not known."""
        if self.plan.defects:
            return (
                f"this run is a positive control: it has the known defect {', '.join(self.plan.defects)} "
                "of the Python scheduler, and its violation says nothing about another one"
            )
        if self.scenario.known_to_fail and not self.plan.remedies:
            return f"this run shows the known hazard {self.scenario.known_to_fail} of Kubernetes"
        return ""


def load(path: pathlib.Path) -> OriginalRun:
    """Judge a run directory and return the run.

    Raises RunDirectoryError if it is not one, and UsageError if there is nothing to reproduce.
    """
    directory = directories.existing(path)
    plan = plans.read(directory.plan)
    if token := plan.settings.get("token"):
        raise errors.UsageError(
            f"expected a run on a cluster, got {path}, which the explorer saved: it is small and "
            f"fails every time, see `flake-hunt replay {token} --pytest FILE`"
        )
    if plan.defects and plan.campaign:
        raise errors.UsageError(
            f"expected a run of the tested subject, got {path}, a positive control of a campaign, "
            f"with the known defect {', '.join(plan.defects)}: name an INVALID run of the subject"
        )
    judgement = judging.judge(directory)
    broken = [item for item in judgement.checks if item.verdict is verdicts.Verdict.INVALID]
    if not broken:
        raise errors.UsageError(
            f"expected a run with a violation, got the {judgement.verdict} run {path} "
            f"({judgement.reason}): there is nothing to reproduce"
        )
    scenario = _scenario(plan, directory)
    # The files of `pools.from` may have changed, or be elsewhere: the run saved their objects.
    saved = [str(directory.pool_objects)] if scenario.pools.from_ else []
    return OriginalRun(
        plan=plan,
        scenario=scenario,
        pool_objects=imported_pools.read(saved) if saved else None,
        check=broken[0],
    )


def _scenario(plan: plans.Plan, directory: directories.RunDirectory) -> specs.Scenario:
    """Return the plan's scenario: it exists even if the file was changed or removed since."""
    try:
        scenario = specs.Scenario.model_validate(documents.without(plan.settings))
        if isinstance(scenario.traffic, script_specs.ScriptTraffic):
            raise errors.UsageError(
                f"expected a run with a load that can be made smaller, got one of the script "
                f"{plan.scenario}: play it again with `flake-hunt run {plan.scenario}`"
            )
        profile = profiles.restore(plan.cluster_profile)
        faults = fault_planning.drawn(  # those of a nemesis, so that each can go
            scenario,
            seed=plan.seed,
            on=providers.of(profile).capabilities,
            provider=profile.provider,
        )
        return smaller_scenarios.changed(
            scenario,
            pools=_shared(scenario.pools, plan.run_id),
            subject=_unresolved(scenario.subject),
            faults=faults,
            controls=[],
            remedies=[],
            thresholds=[],
            plain_hunt=False,
        )
    except pydantic.ValidationError as error:
        raise errors.RunDirectoryError(
            f"{directory.plan}: expected the settings of a scenario ({error.error_count()} mistakes): "
            "reproduce the run with the version of Flake Hunt that wrote it"
        ) from error


def _shared(pools: pool_specs.PoolsSpec, run_id: str) -> pool_specs.PoolsSpec:
    """Return the pools with their own names instead of those of a run among other users."""
    if pools.from_:
        pools = pools.model_copy(update={"from_": [directories.POOL_OBJECTS]})
    if not pools.owner:
        return pools
    name = pools.device_class.name.removesuffix(f"-{run_id}")
    prefix = pools.node_prefix.removeprefix(f"flake-hunt-{run_id}-")
    resource = pools.device_class.extended_resource.removeprefix(f"{run_id}.")
    klass = pools.device_class.model_copy(update={"name": name, "extended_resource": resource})
    changes = {"owner": "", "node_prefix": prefix, "device_class": klass}
    return pools.model_copy(update=changes)


def _unresolved(subject: subject_specs.SubjectSpec) -> subject_specs.SubjectSpec:
    """Return the subject with defaults where the plan has names and places of one run.

    A binary that is no longer where it was is looked for in the usual places. A claim controller
    that was chosen stays; ours and the cluster's are the default.
    """
    found = scenario_files.without_binaries(
        subject, lambda binary: not pathlib.Path(binary).is_file()
    )
    schedulers = []
    for index, item in enumerate(found.schedulers):
        default = subjects.SCHEDULER_NAME + (f"-{index + 1}" if index else "")
        is_default = item.scheduler_name in (default, subjects.SCHEDULER_NAME)
        name = {"scheduler_name": ""} if is_default and item.kind != "external" else {}
        schedulers.append(item.model_copy(update=name))
    changes: dict[str, object] = {"schedulers": schedulers}
    if found.claim_controller in ("python", "cluster"):
        changes["claim_controller"] = "auto"
    return found.model_copy(update=changes)


def profile_of(run: OriginalRun, chosen: profiles.Profile | None) -> profiles.Profile:
    """Return the profile to reproduce on: the chosen one, or (None) that of the original run.

    Raises UnusableClusterError if this machine cannot start it.
    """
    profile = chosen or profiles.restore(run.plan.cluster_profile)
    try:
        profile = providers.suited(profile, run.scenario)
        providers.usable(profile)
    except errors.UsageError as error:
        if profile.provider == "embedded":
            raise
        raise errors.UnusableClusterError(
            f"{error}. The run was made on {profile.name}; to reproduce it without one, choose "
            "--cluster embedded"
        ) from error
    return profile
