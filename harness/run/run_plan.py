"""Resolves a scenario, a seed and the chosen subject into the plan of a run."""

import functools
import importlib.metadata
import pathlib
import platform
import secrets
import subprocess
from collections.abc import Mapping, Sequence

from harness import clocks, errors, suggestions
from harness.checks import check_registry, plugin_checks
from harness.cluster import providers
from harness.cluster.fake_nodes import fake_objects
from harness.extensions import discovery
from harness.history import plans
from harness.run import fault_planning, subjects, thread_plans
from harness.run.defects import known_defects
from harness.run.programs import controller_commands, driver_commands
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

OBSERVED = [
    "resourceclaims",
    "pods",
    "resourceslices",
    "deviceclasses",
    "nodes",
    "resourceclaimtemplates",
]
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
_GIT_TIMEOUT_S = 5
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
    known_defects.require_known(loaded.scenario.controls)
    known_remedies.CATALOGUE.chosen(loaded.scenario.remedies)
    known_defects.require_combinable(defects, remedies, release)
    scenario = controller_commands.chosen(loaded.scenario, claim_controller)
    profile = providers.suited(cluster, scenario)
    on, run_id = providers.usable(profile).capabilities, secrets.token_hex(4)
    scenario, plugins = launching.resolved(scenario)
    if until_found and not known_defects.show_otherwise(defects):
        scenario = _with_most_time(scenario)
    if not on.exclusive:
        scenario = _among_others(scenario, run_id)
    subject = subjects.resolve(
        scenario,
        chosen=chosen_subjects,
        defects=defects,
        remedies=remedies,
        release=release,
        on=on,
        folder=binaries or getattr(profile, "binaries", ""),
    )
    scenario = scenario.model_copy(update={"subject": subject})
    driver_commands.require_usable(driver_commands.of(subject))
    _require_understood_pods(scenario)
    thread_plans.require_places(scenario)
    faults = fault_planning.plan(
        scenario, seed=seed, on=on, provider=profile.provider, choice=fault_carrier
    )
    changes = pool_changes.PoolChanges(changes=scenario.pools.changes)
    is_theirs = subject.claim_controller not in ("python", "external")
    drivers = [place.process for place in driver_commands.of_run(scenario)]
    resolved = plans.Plan(
        run_id=run_id,
        scenario=scenario.name,
        seed=seed,
        subject=subjects.title(subject, release),
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
        collects_garbage=on.garbage_collector,
        audit_log=getattr(profile, "audit_log", False),
        progress_s=scenario.progress_s,
        known_to_fail=scenario.known_to_fail or scenario.known_to_fail_theirs * is_theirs,
        requirements=plans.Requirements(**scenario.load.model_dump()),
        thresholds=[plans.Threshold(**one.model_dump()) for one in scenario.thresholds],
        expected_operations=[*scenario.traffic.process_names, *faults.kubelets],
        expected_preparations=faults.kubelets,
        expected_steps=subjects.python_parts(subject),
        expected_writes=subjects.python_parts(subject),
        expected_processes=[
            "recorder",
            *faults.kubelets,
            *([] if isinstance(scenario.traffic, script_specs.ScriptTraffic) else ["traffic"]),
            *drivers,
            *subjects.owned_schedulers(subject),
            *subjects.owned_controllers(subject),
        ],
        expected_pool_changes=faults.kubelets[:1] if changes.changes else [],
        pool_changes=changes.demanded,
        expects_manifest=True,
        resources=[
            *OBSERVED,
            *(["devicetaintrules"] if cluster_features.needs_rules(scenario.pools) else []),
            *(["podgroups"] if cluster_features.has_pod_groups(scenario) else []),
            *(_OTHERS if on.dense_revisions else []),
        ],
        compression=scenario.recording.compression,
        dense_revisions=on.dense_revisions,
        settings=scenario.model_dump(mode="json"),
        again=[
            "run",
            loaded.given,
            *("--seed", str(seed)),
            *_options(
                {
                    "--set": loaded.overrides,
                    threshold_specs.OPTION: loaded.thresholds,
                    "--defect": defects,
                    "--remedy": remedies,
                    "--as": [release],
                    "--subject": chosen_subjects,
                    "--claim-controller": [claim_controller],
                    "--fault-carrier": [fault_carrier.replace("auto", "")],
                }
            ),
            *(["--until-found"] if until_found else []),
            *cluster_options(cluster),
        ],
        plugins=[
            *_plugins(loaded, profile.chosen.name, chosen_subjects, defects),
            *plugins,
        ],
        versions=versions() | subjects.versions(scenario),
    )
    _require_examinable(resolved)
    return resolved


def _with_most_time(scenario: specs.Scenario) -> specs.Scenario:
    traffic = scenario.traffic
    if not isinstance(traffic, traffic_specs.TimedTraffic):
        return scenario
    traffic = traffic.model_copy(update={"duration_s": traffic.duration_max_s})
    return scenario.model_copy(update={"traffic": traffic})


def _among_others(scenario: specs.Scenario, run_id: str) -> specs.Scenario:
    """Raise ScenarioError for rules of files, which could taint devices of other users."""
    if "taint-rules" in getattr(scenario.pools.imported, "has", ()):
        raise errors.ScenarioError(
            "pools.from: expected no DeviceTaintRules on a cluster that others use, got some: "
            "remove them from the files, or choose another cluster"
        )
    return scenario.model_copy(update={"pools": fake_objects.own(scenario.pools, run_id)})


def _require_understood_pods(scenario: specs.Scenario) -> None:
    kinds = [item.kind for item in scenario.subject.schedulers]
    found = list(objections.of_python_scheduler(scenario.object_sets))
    if found and "python" in kinds:
        raise errors.ScenarioError(
            "expected pods whose keys this repository's scheduler looks at, got "
            f"{'; '.join(found)}: remove them, or choose --subject kube-scheduler"
        )


def _plugins(
    loaded: loading.Loaded, cluster: str, chosen_subjects: Sequence[str], defects: Sequence[str]
) -> list[plans.UsedPlugin]:
    shipped = known_defects.names()
    faults = loaded.scenario.faults
    asked = [
        loading.SHELF.plugin(loaded.given),
        profiles.SHELF.plugin(cluster),
        *(discovery.named("subjects", text, shipped=subjects.KINDS) for text in chosen_subjects),
        *(discovery.named("defects", name, shipped=shipped) for name in defects),
        *(discovery.named("faults", name) for fault in faults for name in fault.plugins),
        *plugin_checks.installed(),
    ]
    return [
        plans.UsedPlugin(
            kind=plugin.kind, name=plugin.name, package=plugin.package, version=plugin.version
        )
        for plugin in filter(None, asked)
    ]


def _require_examinable(plan: plans.Plan) -> None:
    known = [check.name for check in check_registry.CHECKS]
    known += [used.name for used in plan.plugins if used.kind == "checks"]
    for name in plan.requirements.examined:
        if name not in known:
            raise errors.ScenarioError(
                f"load.examined: expected names of checks, got {name!r}. The checks are: "
                f"{', '.join(known)}.{suggestions.did_you_mean(name, known)}"
            )


# ------------------------------------------------------------------------ the same again


def _options(chosen: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        word
        for option, values in chosen.items()
        for value in values
        if value
        for word in (option, value)
    ]


def cluster_options(profile: profiles.Profile) -> list[str]:
    name, overrides = profile.chosen.name or profile.name, profile.chosen.overrides
    if name == "embedded" and not overrides:
        return []
    return _options({"--cluster": [name, *overrides]})


def scenario_of(plan: plans.Plan) -> specs.Scenario:
    return specs.Scenario.model_validate(plan.settings)


def folder_name(plan: plans.Plan) -> str:
    start = clocks.wall_text(plan.created_wall_ns).replace("-", "").replace(":", "")
    return f"{start}-{plan.run_id}"


def versions() -> dict[str, str]:
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
    """Asked once: this process goes on with the code that it has imported."""
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
