"""The schedulers that a run tests: parsed, resolved and checked when the run is planned.

A scheduler is a process with a kubeconfig and a `schedulerName`, or only the name if it is started
outside the harness. Combinations that cannot work are rejected. `scheduler_commands` has the
command lines.
"""

import dataclasses
import pathlib
import shlex
from collections.abc import Sequence

from harness import errors, placeholders, suggestions
from harness.cluster import interfaces
from harness.cluster.local import binaries
from harness.extensions import descriptions, discovery
from harness.model import naming
from harness.run.defects import known_defects
from harness.run.programs import (
    controller_commands,
    driver_commands,
    program_versions,
    scheduler_commands,
)
from harness.scenario import cluster_features, script_specs, specs, subject_specs
from harness.subject import remedies as known_remedies

SCHEDULER_NAME = "flake-hunt"
"""Default `schedulerName`; further schedulers get a number as suffix."""
UNTOLD_NAME = "default-scheduler"
"""`schedulerName` for a program whose command line has no {scheduler_name}: that of Kubernetes."""
PROCESS = "scheduler"
"""Process name of the first scheduler; further ones get a number as suffix."""
BINDING_TIMEOUT_SINCE = (1, 35)
"""First version of kube-scheduler with the argument bindingTimeout (kubernetes#134905)."""
STREAMED_LISTS_SINCE = (1, 35)
"""First version of kube-scheduler in which WatchListClient is on."""
OWNED = (
    subject_specs.PythonScheduler,
    subject_specs.KubeScheduler,
    subject_specs.CommandScheduler,
)
"""Schedulers that the run starts."""
KINDS = ("python", "kube-scheduler", "cluster", "external", "command")
"""The words with which `--subject` begins; anything else is the name of a plug-in."""
FORMS = (
    "python, kube-scheduler[=PATH|VERSION [FLAGS]], cluster[=NAME], external=NAME, command='PROGRAM {kubeconfig} …', "
    "or a plug-in's name"
)
"""The forms of `--subject`, for error messages and help."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """The subject of a run with everything that its plan says of it."""

    spec: subject_specs.SubjectSpec
    title: str
    versions: dict[str, str]
    """Versions of the programs under test, by process name."""
    python_parts: list[str]
    """Names of the processes that record their steps."""
    processes: list[str]
    """Names of all processes that the run starts for it."""


def parse(text: str) -> subject_specs.AnyScheduler:
    """Return the scheduler that `--subject` describes.

    Raises UsageError for a text that has none of the forms, PluginError for a plug-in of no use.
    """
    kind, _, value = text.partition("=")
    match kind, value:
        case "python", "":
            return subject_specs.PythonScheduler()
        case "kube-scheduler", _:
            return scheduler_commands.kube_scheduler(value)
        case "cluster", "":
            return subject_specs.ClusterScheduler(kind="cluster")
        case "cluster", _:
            return subject_specs.ClusterScheduler(kind="cluster", scheduler_name=value)
        case "external", value if value:
            return subject_specs.ExternalScheduler(kind="external", scheduler_name=value)
        case "command", value if value.strip():
            return subject_specs.CommandScheduler(kind="command", command=placeholders.words(value))
    if plugin := discovery.named("subjects", text, shipped=KINDS):
        described = descriptions.subject(plugin)
        return subject_specs.CommandScheduler(
            kind="command",
            command=list(described.command),
            version_command=list(described.version_command),
        )
    near = suggestions.did_you_mean(kind, [*KINDS, *discovery.usable("subjects", shipped=KINDS)])
    raise errors.UsageError(f"expected a subject ({FORMS}), got {text!r}.{near}")


def of_run(
    scenario: specs.Scenario,
    *,
    chosen: Sequence[str],
    defects: Sequence[str],
    remedies: Sequence[str],
    release: str,
    on: interfaces.Capabilities,
    folder: str,
) -> Resolved:
    """Return the subject of a run; for the arguments and errors see `resolve`."""
    found = resolve(
        scenario.subject,
        chosen=_for_each(chosen, scenario),
        defects=defects,
        remedies=remedies,
        release=release,
        on=on,
        folder=folder,
    )
    found = with_features(found, scenario)
    driver = driver_commands.of(found)
    driver_commands.require_usable(driver, known_defects.of_actor(defects, "driver"))
    drivers = [place.process for place in driver_commands.of_run(scenario)]
    of_driver = {name: driver_commands.version(driver) for name in drivers}
    return Resolved(
        spec=found,
        title=title(found, release),
        python_parts=python_parts(found),
        processes=[*drivers, *owned_schedulers(found), *owned_controllers(found)],
        versions=versions(found) | {name: text for name, text in of_driver.items() if text},
    )


def _for_each(chosen: Sequence[str], scenario: specs.Scenario) -> list[str]:
    """Return what `--subject` says; one alone takes the place of each scheduler of a script."""
    is_alone = len(chosen) == 1 and isinstance(scenario.traffic, script_specs.ScriptTraffic)
    return [*chosen] * (len(scenario.subject.schedulers) if is_alone else 1)


def resolve(
    subject: subject_specs.SubjectSpec,
    *,
    chosen: Sequence[str],
    defects: Sequence[str],
    remedies: Sequence[str] = (),
    release: str = "",
    on: interfaces.Capabilities,
    folder: str,
) -> subject_specs.SubjectSpec:
    """Return the subject with names, paths and the claim controller resolved.

    `chosen` replaces the scenario's schedulers. Binaries are searched in `folder` (empty: where
    envtest installs them). Raises UsageError for a subject that cannot work on this cluster.
    """
    schedulers = [parse(text) for text in chosen] or subject.schedulers
    numbers = [0] * len(schedulers) if subject.leader_election else range(len(schedulers))
    named = [
        _resolved(item, number, folder) for number, item in zip(numbers, schedulers, strict=True)
    ]
    for item in named:
        _require_usable(item, on)
    if not any(isinstance(item, subject_specs.PythonScheduler) for item in named):
        _require_unchanged(
            known_defects.of_part(defects, "scheduler"),
            known_remedies.CATALOGUE.of_process(remedies, "scheduler"),
            release,
        )
    controller = controller_commands.resolve(subject.claim_controller, on, folder)
    if controller != "python":
        _require_own_controller(
            "--defect", known_defects.of_part(defects, naming.CLAIM_CONTROLLER), "has known defects"
        )
        _require_own_controller(
            "--remedy",
            known_remedies.CATALOGUE.of_process(remedies, naming.CLAIM_CONTROLLER),
            "can be given remedies",
        )
    return subject.model_copy(update={"schedulers": named, "claim_controller": controller})


def with_features(
    subject: subject_specs.SubjectSpec, scenario: specs.Scenario
) -> subject_specs.SubjectSpec:
    """Return the subject with the feature gates of its programs that the scenario needs.

    Raises UsageError for one that lacks a feature, or an argument that the subject sets.
    """
    schedulers = [
        _with_gates(item, scenario) if isinstance(item, subject_specs.KubeScheduler) else item
        for item in subject.schedulers
    ]
    controller = controller_commands.with_gates(
        subject.claim_controller, scenario, lists=needs_lists(scenario)
    )
    return subject.model_copy(update={"schedulers": schedulers, "claim_controller": controller})


def _with_gates(
    scheduler: subject_specs.KubeScheduler, scenario: specs.Scenario
) -> subject_specs.KubeScheduler:
    waits = scenario.subject.binding_timeout_s != subject_specs.SubjectSpec().binding_timeout_s
    lists = needs_lists(scenario)
    if not (waits or lists or cluster_features.needed(scenario)):
        return scheduler
    version = cluster_features.version_of(binaries.version(pathlib.Path(scheduler.binary)))
    found = cluster_features.switches(
        scenario,
        version,
        scheduler.feature_gates,
        where=PROCESS,
        program="a kube-scheduler",
        evicts=False,
    )
    if waits and version < BINDING_TIMEOUT_SINCE:
        raise errors.UsageError(
            "expected a kube-scheduler of 1.35 or newer for subject.binding_timeout_s, because "
            f"older ones always wait 600 s, got {scheduler.binary} of {version[0]}.{version[1]}"
        )
    streamed = (
        {scheduler_commands.STREAMED_LISTS: False}
        if lists and version >= STREAMED_LISTS_SINCE
        else {}
    )
    gates = {**streamed, **found.gates, **scheduler.feature_gates}
    return scheduler.model_copy(update={"feature_gates": gates})


def needs_lists(scenario: specs.Scenario) -> bool:
    """Return whether schedulers must list, not stream lists: cached ones are asked for or hit."""
    targets = [getattr(fault, "on", None) for fault in scenario.faults]
    return scenario.subject.lists_cached or any(on and on.verbs == ["list"] for on in targets)


def environment(scenario: specs.Scenario) -> dict[str, str]:
    """Return the environment of programs of client-go; kube-scheduler has a gate instead."""
    gate = f"KUBE_FEATURE_{scheduler_commands.STREAMED_LISTS}"
    return {gate: "false"} if needs_lists(scenario) else {}


def _require_own_controller(option: str, chosen: Sequence[str], only_ours: str) -> None:
    """Raise UsageError for a defect or remedy of our claim controller, which does not run."""
    if chosen:
        raise errors.UsageError(
            f"expected the Python claim controller for {option} {chosen[0]}, because only that "
            f"{only_ours}: leave --claim-controller out and use --cluster embedded"
        )


def _require_unchanged(defects: Sequence[str], remedies: Sequence[str], release: str) -> None:
    if defects:
        raise errors.UsageError(
            f"expected the python subject for --defect {defects[0]}: only it has known defects"
        )
    if remedies:
        raise errors.UsageError(
            f"expected the python subject for --remedy {remedies[0]}: only it can be given remedies"
        )
    if release:
        raise errors.UsageError(
            f"expected the python subject for --as {release}: any other one is what it is"
        )


def _resolved(
    scheduler: subject_specs.AnyScheduler, number: int, folder: str
) -> subject_specs.AnyScheduler:
    default = SCHEDULER_NAME if number == 0 else f"{SCHEDULER_NAME}-{number + 1}"
    if isinstance(scheduler, subject_specs.CommandScheduler) and not _is_told_its_name(scheduler):
        default = UNTOLD_NAME
    changes: dict[str, object] = {"scheduler_name": scheduler.scheduler_name or default}
    if isinstance(scheduler, subject_specs.KubeScheduler):
        changes["binary"] = str(kube_scheduler(scheduler.binary, folder))
    return scheduler.model_copy(update=changes)


def _is_told_its_name(scheduler: subject_specs.CommandScheduler) -> bool:
    return any("{scheduler_name}" in word for word in scheduler.command)


def kube_scheduler(chosen: str, folder: str) -> pathlib.Path:
    """Return the kube-scheduler of a path or a version; empty: the newest one."""
    if not chosen or binaries.is_version(chosen):
        return binaries.find("kube-scheduler", folder, version=chosen)
    return binaries.program(chosen)


def _require_usable(scheduler: subject_specs.AnyScheduler, on: interfaces.Capabilities) -> None:
    if isinstance(scheduler, subject_specs.ClusterScheduler) and not on.scheduler:
        raise errors.UsageError(
            "expected a cluster that runs its own kube-scheduler (subject `cluster`), but this one "
            "does not: use --subject kube-scheduler, or --cluster kind"
        )
    if isinstance(scheduler, subject_specs.CommandScheduler):
        binaries.program(scheduler.command[0])
        for word in scheduler.command:
            scheduler_commands.check_placeholders(word)
        if on.scheduler and scheduler.scheduler_name == UNTOLD_NAME:
            raise errors.UsageError(
                f"expected {{scheduler_name}} in the command {shlex.join(scheduler.command)!r}, because the cluster's own "
                f"scheduler schedules the pods of {UNTOLD_NAME}: give the program a name by it"
            )


def versions(subject: subject_specs.SubjectSpec) -> dict[str, str]:
    """Return the versions of the programs under test, by process name.

    Programs without a version are left out. Raises UsageError for a binary that cannot run here.
    """
    known = {}
    for name, scheduler in zip(process_names(subject), subject.schedulers, strict=True):
        if isinstance(scheduler, subject_specs.KubeScheduler):
            path = pathlib.Path(scheduler.binary)
            version = binaries.version(path)
            if binaries.is_of_kubernetes(path):
                binaries.require_new_enough(path, version, name="kube-scheduler")
            known[name] = f"kube-scheduler {binaries.whole_version(path)}"
        elif isinstance(scheduler, subject_specs.CommandScheduler) and scheduler.version_command:
            program, *arguments = scheduler.version_command
            known[name] = binaries.version(binaries.program(program), arguments)
        elif isinstance(scheduler, subject_specs.CommandScheduler):
            known[name] = program_versions.of_command(scheduler.command)
    known[naming.CLAIM_CONTROLLER] = controller_commands.version(subject.claim_controller)
    return {name: version for name, version in known.items() if version}


def title(subject: subject_specs.SubjectSpec, release: str = "") -> str:
    """Return the kinds of the schedulers for tables, such as `python + external`."""
    kinds = " + ".join(item.kind for item in subject.schedulers)
    return f"{kinds} as {release}" if release else kinds


def process_names(subject: subject_specs.SubjectSpec) -> list[str]:
    """Return the names of the schedulers' processes and logs: `scheduler`, `scheduler-2`, …

    Schedulers that are started outside the harness have such names too.
    """
    return [naming.scheduler(index) for index in range(len(subject.schedulers))]


def owned_schedulers(subject: subject_specs.SubjectSpec) -> list[str]:
    """Return the names of the schedulers that the run starts."""
    named = zip(process_names(subject), subject.schedulers, strict=True)
    return [name for name, item in named if isinstance(item, OWNED)]


def python_parts(subject: subject_specs.SubjectSpec) -> list[str]:
    """Return the process names of the Python subject, the ones that record their steps."""
    schedulers = [
        name
        for name, item in zip(process_names(subject), subject.schedulers, strict=True)
        if isinstance(item, subject_specs.PythonScheduler)
    ]
    return schedulers + python_controllers(subject)


def python_controllers(subject: subject_specs.SubjectSpec) -> list[str]:
    """Return the process name of our claim controller; empty if another one works."""
    return [naming.CLAIM_CONTROLLER] if subject.claim_controller == "python" else []


def owned_controllers(subject: subject_specs.SubjectSpec) -> list[str]:
    """Return the process name of the claim controller that the run starts; empty: none."""
    starts = subject.claim_controller not in ("cluster", "external")
    return [naming.CLAIM_CONTROLLER] if starts else []
