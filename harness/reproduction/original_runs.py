"""The run to reproduce: its violation, and its scenario as it can be run again elsewhere."""

import dataclasses
import pathlib

import pydantic

from harness import errors, seeds
from harness.checks import judging, verdict_files, verdicts
from harness.cluster import providers
from harness.history import campaign_folders, directories, plans
from harness.reproduction.search import smaller_scenarios
from harness.run import fault_planning, subjects
from harness.scenario import (
    imported_pools,
    pool_specs,
    profiles,
    script_specs,
    specs,
    subject_specs,
)
from harness.scenario.fault_kinds import fault
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
    _require_made_by_run(plan, path)
    _require_no_control(plan, directory)
    judgement = judging.judge(directory)
    _require_invalid(judgement, path)
    broken = [item for item in judgement.checks if item.verdict is verdicts.Verdict.INVALID]
    if not broken:
        raise errors.UsageError(
            f"expected a run with a violation, got {path}, which only did not meet thresholds "
            f"({'; '.join(judgement.missed_thresholds)}): name a run in which a violation was found"
        )
    scenario = _scenario(plan, directory)
    return OriginalRun(
        plan=plan,
        scenario=scenario,
        pool_objects=_pool_objects(scenario, directory),
        check=broken[0],
    )


def _pool_objects(
    scenario: specs.Scenario, directory: directories.RunDirectory
) -> imported_pools.Imported | None:
    """Return the objects that the run saved: the files may have changed, or be elsewhere.

    Raises ManifestError if they cannot be read.
    """
    if not scenario.pools.from_:
        return None
    return imported_pools.read([str(directory.pool_objects)])


def _require_made_by_run(plan: plans.Plan, path: pathlib.Path) -> None:
    if token := plan.settings.get("token"):
        raise errors.UsageError(
            f"expected a run on a cluster, got {path}, which the explorer saved: it is small and "
            f"fails every time, see `flake-hunt replay {token} --pytest FILE`"
        )


def _require_no_control(plan: plans.Plan, directory: directories.RunDirectory) -> None:
    """Raise UsageError for a positive control of a campaign: its defect is known."""
    if plan.defects and plan.campaign:
        defects = " ".join(f"--defect {name}" for name in plan.defects)
        raise errors.UsageError(
            f"expected a run of the tested subject, got {directory.path}, a positive control of a "
            f"campaign, with the known defect {', '.join(plan.defects)}: "
            f"{_instead(directory.path.resolve().parents[1], plan.campaign)}; to reproduce the defect, "
            f"name a run of `flake-hunt run {plan.scenario} {defects}`"
        )


def _instead(reports: pathlib.Path, campaign: str) -> str:
    folder = campaign_folders.read(reports / campaign_folders.FOLDER / campaign)
    invalid = [
        folder.directory_of(result)
        for result in folder.results
        if result.purpose == "subject" and result.verdict == "INVALID" and result.directory
    ]
    if invalid:
        return f"name {invalid[0]} instead"
    return "no run of the tested subject is INVALID in that campaign"


def _require_invalid(judgement: verdict_files.Judgement, path: pathlib.Path) -> None:
    if judgement.verdict is not verdicts.Verdict.INVALID:
        raise errors.UsageError(
            f"expected an INVALID run, got the {judgement.verdict} run {path} ({judgement.reason}): "
            "there is nothing to reproduce; name a run in which a violation was found"
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
        return smaller_scenarios.changed(
            scenario,
            pools=_shared(scenario.pools, plan.run_id),
            subject=_unresolved(scenario.subject),
            faults=_drawn(plan, scenario),
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

    A binary that is no longer where it was is looked for in the usual places.
    """
    schedulers = []
    for index, item in enumerate(subject.schedulers):
        default = subjects.SCHEDULER_NAME + (f"-{index + 1}" if index else "")
        changes: dict[str, object] = {}
        if item.scheduler_name in (default, subjects.SCHEDULER_NAME) and item.kind != "external":
            changes["scheduler_name"] = ""
        if (
            isinstance(item, subject_specs.KubeScheduler)
            and not pathlib.Path(item.binary).is_file()
        ):
            changes["binary"] = ""
        schedulers.append(item.model_copy(update=changes))
    controller = _unresolved_controller(subject.claim_controller)
    return subject.model_copy(update={"schedulers": schedulers, "claim_controller": controller})


def _unresolved_controller(
    controller: subject_specs.AnyClaimController,
) -> subject_specs.AnyClaimController:
    """Return a kube-controller-manager as it was chosen; ours and the cluster's are the default."""
    if controller == "external":
        return controller
    if not isinstance(controller, subject_specs.KubeControllerManager):
        return "auto"
    is_there = pathlib.Path(controller.binary).is_file()
    return controller if is_there else controller.model_copy(update={"binary": ""})


def _drawn(plan: plans.Plan, scenario: specs.Scenario) -> list[fault.Fault]:
    """Return the faults, with those that a nemesis drew in its place, so that each can go."""
    profile = profiles.restore(plan.cluster_profile)
    return fault_planning.drawn(
        scenario,
        seed=plan.seed,
        on=providers.of(profile).capabilities,
        provider=profile.provider,
    )


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


def seed_of(run: OriginalRun, number: int) -> int:
    """Return the seed of a run of the reproduction; `number` counts them from 1."""
    return seeds.Seeds(run.plan.seed).derive("reproduce", number)
