"""Resolves a scenario, a seed and the chosen subject into the plan of a run."""

import functools
import importlib.metadata
import pathlib
import platform
import secrets
import subprocess
from collections.abc import Iterator, Sequence

import msgspec

from harness import clocks, errors, suggestions
from harness.checks import check_registry
from harness.checks.plugin_checks import planned_checks
from harness.cluster import providers
from harness.cluster.fake_nodes import fake_objects
from harness.extensions import discovery, entry_points
from harness.history import plans
from harness.model import naming
from harness.run import fault_planning, pool_objects, selectors, subjects, thread_plans
from harness.run.defects import known_defects
from harness.run.programs import controller_commands
from harness.scenario import (
    cluster_features,
    loading,
    pool_changes,
    profiles,
    script_specs,
    specs,
    threshold_specs,
    traffic_specs,
)
from harness.scenario.object_sets import objections
from harness.subject import remedies as known_remedies
from harness.traffic import launching


def asked_for(
    loaded: loading.Loaded,
    *,
    cluster: str,
    chosen_subjects: Sequence[str],
    defects: Sequence[str],
) -> list[plans.UsedPlugin]:
    """Return the plug-ins of a run but that of its traffic.

    `cluster` is the name or path of its profile.

    Raises PluginError if one cannot be used by its name.
    """
    plugins = _plugins(loaded, cluster, chosen_subjects, defects)
    return [
        plans.UsedPlugin(
            kind=plugin.kind, name=plugin.name, package=plugin.package, version=plugin.version
        )
        for plugin in plugins
    ]


def _plugins(
    loaded: loading.Loaded, cluster: str, chosen_subjects: Sequence[str], defects: Sequence[str]
) -> Iterator[entry_points.Plugin]:
    asked = [
        loading.SHELF.plugin(loaded.given),
        profiles.SHELF.plugin(cluster),
        *(discovery.named("subjects", text, shipped=subjects.KINDS) for text in chosen_subjects),
        *(discovery.named("defects", name, shipped=known_defects.names()) for name in defects),
        *(
            discovery.named("faults", name)
            for fault in loaded.scenario.faults
            for name in fault.plugins
        ),
    ]
    yield from filter(None, asked)
    yield from planned_checks.installed()


def examinable(plan: plans.Plan) -> plans.Plan:
    """Return the plan with the demanded checks that its parts allow.

    Raises ScenarioError for an unknown check, and for one that examines nothing whatever the parts.
    """
    _require_examinable(plan)
    wanted = plan.requirements
    checks = {check.name: check for check in check_registry.CHECKS}
    kept = [name for name in wanted.examined if name not in checks or checks[name].applies(plan)]
    requirements = msgspec.structs.replace(wanted, examined=kept)
    return msgspec.structs.replace(plan, requirements=requirements)


def _require_examinable(plan: plans.Plan) -> None:
    ours = [subjects.PROCESS, naming.CLAIM_CONTROLLER]
    plan = msgspec.structs.replace(plan, expected_steps=[*plan.expected_steps, *ours])
    checks = {check.name: check for check in check_registry.CHECKS}
    others = [used.name for used in plan.plugins if used.kind == "checks"]
    for name in plan.requirements.examined:
        if name in others:
            continue
        if name not in checks:
            raise errors.ScenarioError(
                f"load.examined: expected names of checks, got {name!r}. The checks are: "
                f"{', '.join([*checks, *others])}.{suggestions.did_you_mean(name, [*checks, *others])}"
            )
        if not checks[name].applies(plan):
            raise errors.ScenarioError(
                f"load.examined: {name} examines nothing in a run of {plan.scenario}, because the "
                "scenario has nothing of that kind. Remove the name, or change the scenario"
            )


OBSERVED = [
    "resourceclaims",
    "pods",
    "resourceslices",
    "deviceclasses",
    "nodes",
    "resourceclaimtemplates",
]
"""Resources that the recorder watches."""
_OTHERS = ["namespaces", "events", "leases"]
"""Other resources that runs write to; watched if the cluster's revisions are dense."""
_LIBRARIES = (
    "locust",
    "geventhttpclient",
    "httptools",
    "msgspec",
    "pandas",
    "numpy",
    "cel-expr-python",
)
"""Distributions whose versions the plan records."""
_GIT_TIMEOUT_S = 5
"""Time limit for `git describe`, in seconds."""
_CHECKOUT = pathlib.Path(__file__).parents[2]
"""The folder that contains `.git` when the harness runs from a checkout."""


def plan(
    loaded: loading.Loaded,
    *,
    seed: int,
    defects: Sequence[str] = (),
    remedies: Sequence[str] = (),
    release: str = "",
    cluster: profiles.Profile | None = None,
    until_found: bool = False,
    chosen_subjects: Sequence[str] = (),
    claim_controller: str = "",
    binaries: str = "",
    fault_carrier: fault_planning.CarrierChoice = "auto",
) -> plans.Plan:
    """Return everything that is decided before the run begins.

    `cluster` None: an embedded one. `chosen_subjects` replace the scenario's schedulers; for their
    forms see `subjects.parse`. `claim_controller` replaces the scenario's (empty: it does not); for
    its forms see `controller_commands.parse`. `release` of Kubernetes: empty for the default.
    `binaries` is the folder of a kube-scheduler. Raises UsageError or ScenarioError for a run that
    cannot work.
    """
    cluster = cluster or profiles.load("embedded")
    command = again(
        loaded,
        seed=seed,
        defects=defects,
        remedies=remedies,
        release=release,
        until_found=until_found,
        chosen_subjects=chosen_subjects,
        claim_controller=claim_controller,
        cluster=cluster,
        fault_carrier=fault_carrier,
    )
    asked = controller_commands.chosen(loaded.scenario, claim_controller)
    known_defects.require_known(loaded.scenario.controls)
    known_remedies.CATALOGUE.require_known(loaded.scenario.remedies)
    known_defects.require_combinable(defects, remedies, release)
    pool_objects.require_usable(loaded)
    selectors.require_satisfiable(loaded.scenario)
    profile = providers.suited(cluster, asked)
    provider = providers.usable(profile)
    run_id = secrets.token_hex(4)
    scenario, plugins = launching.resolved(asked)
    traffic = scenario.traffic
    if (
        until_found
        and isinstance(traffic, traffic_specs.TimedTraffic)
        and not known_defects.show_otherwise(defects)
    ):  # a race gets the longest time that the scenario allows
        traffic = traffic.model_copy(update={"duration_s": traffic.duration_max_s})
        scenario = scenario.model_copy(update={"traffic": traffic})
    if not provider.capabilities.exclusive:
        _require_no_rules(scenario)
        own = fake_objects.own(scenario.pools, run_id)
        scenario = scenario.model_copy(update={"pools": own})
    subject = subjects.of_run(
        scenario,
        chosen=chosen_subjects,
        defects=defects,
        remedies=remedies,
        release=release,
        on=provider.capabilities,
        folder=binaries or getattr(profile, "binaries", ""),
    )
    scenario = scenario.model_copy(update={"subject": subject.spec})
    _require_understood_pods(scenario)
    thread_plans.require_places(scenario)
    faults = fault_planning.plan(
        scenario,
        seed=seed,
        on=provider.capabilities,
        provider=profile.provider,
        choice=fault_carrier,
    )
    changes = pool_changes.PoolChanges(changes=scenario.pools.changes)
    has_rules = cluster_features.needs_rules(scenario.pools)
    is_theirs = subject.spec.claim_controller not in ("python", "external")
    resolved = plans.Plan(
        run_id=run_id,
        scenario=scenario.name,
        seed=seed,
        subject=subject.title,
        defects=list(defects),
        remedies=list(remedies),
        release=release,
        cluster=profile.provider,
        cluster_profile=profile.model_dump(mode="json"),
        namespace=f"flake-hunt-{run_id}",
        boot_id=clocks.boot_id(),
        created_wall_ns=clocks.wall_ns(),
        until_found=until_found,
        faults=faults.faults,
        carrier=faults.carrier,
        collects_garbage=provider.capabilities.garbage_collector,
        audit_log=getattr(profile, "audit_log", False),
        progress_s=scenario.progress_s,
        known_to_fail=scenario.known_to_fail or scenario.known_to_fail_theirs * is_theirs,
        requirements=plans.Requirements(**scenario.load.model_dump()),
        thresholds=[plans.Threshold(**one.model_dump()) for one in scenario.thresholds],
        expected_operations=[*scenario.traffic.process_names, *faults.kubelets],
        expected_preparations=faults.kubelets,
        expected_steps=subject.python_parts,
        expected_writes=subject.python_parts,
        expected_processes=[
            "recorder",
            *faults.kubelets,
            *([] if isinstance(scenario.traffic, script_specs.ScriptTraffic) else ["traffic"]),
            *subject.processes,
        ],
        expected_pool_changes=faults.kubelets[:1] if changes.changes else [],
        pool_changes=changes.demanded,
        expects_manifest=True,
        resources=[
            *OBSERVED,
            *(["devicetaintrules"] if has_rules else []),
            *(["podgroups"] if cluster_features.has_pod_groups(scenario) else []),
            *(_OTHERS if provider.capabilities.dense_revisions else []),
        ],
        compression=scenario.recording.compression,
        dense_revisions=provider.capabilities.dense_revisions,
        settings=scenario.model_dump(mode="json"),
        again=command,
        plugins=[
            *asked_for(
                loaded,
                cluster=profile.chosen.name,
                chosen_subjects=chosen_subjects,
                defects=defects,
            ),
            *plugins,
        ],
        versions=versions() | subject.versions,
    )
    return examinable(resolved)


def _require_no_rules(scenario: specs.Scenario) -> None:
    """Raise ScenarioError for rules of files, which could taint devices of other users."""
    if "taint-rules" in getattr(scenario.pools.imported, "has", ()):
        raise errors.ScenarioError(
            "pools.from: expected no DeviceTaintRules on a cluster that others use, got some: "
            "remove them from the files, or choose another cluster"
        )


def _require_understood_pods(scenario: specs.Scenario) -> None:
    """Raise ScenarioError for pods that our scheduler would place regardless of what they ask."""
    kinds = [item.kind for item in scenario.subject.schedulers]
    found = list(objections.of_python_scheduler(scenario.object_sets))
    if found and "python" in kinds:
        raise errors.ScenarioError(
            "expected pods whose keys this repository's scheduler looks at, got "
            f"{'; '.join(found)}: remove them, or choose --subject kube-scheduler"
        )


def again(
    loaded: loading.Loaded,
    *,
    seed: int,
    defects: Sequence[str],
    remedies: Sequence[str],
    release: str = "",
    until_found: bool,
    chosen_subjects: Sequence[str],
    claim_controller: str = "",
    cluster: profiles.Profile,
    fault_carrier: str = "auto",
) -> list[str]:
    """Return the arguments of `flake-hunt` that repeat a run, in the folder of the first run."""
    options = [
        ("--set", loaded.overrides),
        (threshold_specs.OPTION, loaded.thresholds),
        ("--defect", defects),
        ("--remedy", remedies),
        ("--as", [release] if release else []),
        ("--subject", chosen_subjects),
        ("--claim-controller", [claim_controller] if claim_controller else []),
        ("--fault-carrier", [fault_carrier] if fault_carrier != "auto" else []),
    ]
    chosen = [word for option, values in options for value in values for word in (option, value)]
    flags = ["--until-found"] if until_found else []
    return ["run", loaded.given, "--seed", str(seed), *chosen, *flags, *_cluster_options(cluster)]


def _cluster_options(profile: profiles.Profile) -> list[str]:
    """Return the options that choose the cluster; none for an unchanged embedded cluster."""
    name, overrides = profile.chosen.name or profile.name, profile.chosen.overrides
    if name == "embedded" and not overrides:
        return []
    changes = [word for override in overrides for word in ("--cluster", override)]
    return ["--cluster", name, *changes]


def scenario_of(plan: plans.Plan) -> specs.Scenario:
    return specs.Scenario.model_validate(plan.settings)


def folder_name(plan: plans.Plan) -> str:
    """Return `<start>-<run id>`, the name of the run directory inside its scenario's folder."""
    start = clocks.wall_text(plan.created_wall_ns).replace("-", "").replace(":", "")
    return f"{start}-{plan.run_id}"


def versions() -> dict[str, str]:
    """Return the versions of interpreter, platform, this program and its basic libraries."""
    basic = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "flake-hunt": _version_of("flake-hunt"),
        "commit": _commit(),
    }
    return basic | {name: _version_of(name) for name in _LIBRARIES}


def _version_of(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


@functools.cache
def _commit() -> str:
    """Return the commit of the checkout, with `-dirty` for local changes, or why it is unknown.

    Asked once: this process goes on with the code that it has imported.
    """
    if not (_CHECKOUT / ".git").exists():
        return "unknown (not a checkout)"
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--abbrev=12"],  # noqa: S607
            cwd=_CHECKOUT,
            capture_output=True,
            text=True,
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown (git did not answer)"
    return answer.stdout.strip() or "unknown (no commit)"
