"""The subject of a run: its schedulers and claim controller, parsed, resolved and checked.

A scheduler is a process with a kubeconfig and a `schedulerName`, or only the name if it is started
outside the harness. Combinations that cannot work are rejected. `programs` has the command lines.
"""

import pathlib
import shlex
from collections.abc import Iterator, Mapping, Sequence

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
KINDS = ("python", "kube-scheduler", "cluster", "external", "command")
"""The words with which `--subject` begins; anything else is the name of a plug-in."""
FORMS = (
    "python, kube-scheduler[=PATH|VERSION [FLAGS]], cluster[=NAME], external=NAME, command='PROGRAM {kubeconfig} …', "
    "or a plug-in's name"
)
_OURS: Mapping[str, str] = {
    "scheduler": "choose --subject python",
    naming.CLAIM_CONTROLLER: "leave --claim-controller out and use --cluster embedded",
    "driver": "leave subject.driver out, or set it to 'socket'",
}
"""The parts that may be other programs than ours, and how to get ours."""


def parse(text: str) -> subject_specs.AnyScheduler:
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


def resolve(
    scenario: specs.Scenario,
    *,
    chosen: Sequence[str] = (),
    defects: Sequence[str] = (),
    remedies: Sequence[str] = (),
    release: str = "",
    on: interfaces.Capabilities,
    folder: str = "",
) -> subject_specs.SubjectSpec:
    """Return the scenario's subject with names, paths, gates and claim controller resolved.

    `chosen` replaces the schedulers; one alone takes the place of each scheduler of a script.
    Binaries are searched in `folder` (empty: where envtest installs them). Raises UsageError for a
    subject that cannot work on this cluster, or is not what the defects, remedies or release are
    of.
    """
    given = scenario.subject
    is_alone = len(chosen) == 1 and isinstance(scenario.traffic, script_specs.ScriptTraffic)
    texts = [*chosen] * (len(given.schedulers) if is_alone else 1)
    schedulers = [parse(text) for text in texts] or given.schedulers
    numbers = [0] * len(schedulers) if given.leader_election else range(len(schedulers))
    named = [_named(item, number) for number, item in zip(numbers, schedulers, strict=True)]
    changes = {
        "schedulers": [_usable(item, on, folder) for item in named],
        "claim_controller": controller_commands.resolve(given.claim_controller, on, folder),
    }
    found = given.model_copy(update=changes)
    _require_ours(found, defects, remedies, release)
    return with_gates(found, scenario)


def _named(scheduler: subject_specs.AnyScheduler, number: int) -> subject_specs.AnyScheduler:
    default = SCHEDULER_NAME if number == 0 else f"{SCHEDULER_NAME}-{number + 1}"
    if isinstance(scheduler, subject_specs.CommandScheduler) and not any(
        "{scheduler_name}" in word for word in scheduler.command
    ):
        default = UNTOLD_NAME
    return scheduler.model_copy(update={"scheduler_name": scheduler.scheduler_name or default})


def _usable(
    scheduler: subject_specs.AnyScheduler, on: interfaces.Capabilities, folder: str
) -> subject_specs.AnyScheduler:
    match scheduler:
        case subject_specs.KubeScheduler(binary=binary):
            path = scheduler_commands.binary(scheduler.kind, binary, folder)
            return scheduler.model_copy(update={"binary": str(path)})
        case subject_specs.ClusterScheduler() if not on.scheduler:
            raise errors.UsageError(
                "expected a cluster that runs its own kube-scheduler (subject `cluster`), but this "
                "one does not: use --subject kube-scheduler, or --cluster kind"
            )
        case subject_specs.CommandScheduler(command=words):
            binaries.program(words[0])
            for word in words:
                scheduler_commands.check_placeholders(word)
            if on.scheduler and scheduler.scheduler_name == UNTOLD_NAME:
                raise errors.UsageError(
                    f"expected {{scheduler_name}} in the command {shlex.join(words)!r}, because the "
                    f"cluster's own scheduler schedules the pods of {UNTOLD_NAME}: give the program "
                    "a name by it"
                )
    return scheduler


def _require_ours(
    subject: subject_specs.SubjectSpec,
    defects: Sequence[str],
    remedies: Sequence[str],
    release: str,
) -> None:
    python = subject_specs.PythonScheduler
    driver = driver_commands.of(subject)
    ours = {
        "scheduler": any(isinstance(item, python) for item in subject.schedulers),
        naming.CLAIM_CONTROLLER: subject.claim_controller == "python",
        "driver": driver.is_in_process or driver.is_ours,
    }
    for part, remedy in _OURS.items():
        asked = [f"--defect {name}" for name in known_defects.of_actor(defects, part)]
        asked += [
            f"--remedy {name}" for name in known_remedies.CATALOGUE.of_process(remedies, part)
        ]
        asked += [f"--as {release}"] if release and part == "scheduler" else []
        if asked and not ours[part]:
            raise errors.UsageError(
                f"expected our own {part} for {asked[0]}, because no other one has known defects, "
                f"remedies or releases to choose: {remedy}"
            )


# ------------------------------------------------------------------------ feature gates


def with_gates(
    subject: subject_specs.SubjectSpec, scenario: specs.Scenario
) -> subject_specs.SubjectSpec:
    """Return the subject with the feature gates that the scenario needs of its programs."""
    controller = subject.claim_controller
    if isinstance(controller, subject_specs.KubeControllerManager):
        controller = controller.model_copy(
            update={"feature_gates": _gates(controller, scenario, where=naming.CLAIM_CONTROLLER)}
        )
    schedulers = [
        item.model_copy(update={"feature_gates": _gates(item, scenario, where=PROCESS)})
        if isinstance(item, subject_specs.KubeScheduler)
        else item
        for item in subject.schedulers
    ]
    return subject.model_copy(update={"schedulers": schedulers, "claim_controller": controller})


def _gates(
    program: subject_specs.KubeScheduler | subject_specs.KubeControllerManager,
    scenario: specs.Scenario,
    *,
    where: str,
) -> dict[str, bool]:
    is_scheduler, lists = where == PROCESS, needs_lists(scenario)
    default = subject_specs.SubjectSpec().binding_timeout_s
    waits = is_scheduler and scenario.subject.binding_timeout_s != default
    if not (waits or lists or cluster_features.needed(scenario)):
        return dict(program.feature_gates)
    version = cluster_features.version_of(binaries.version(pathlib.Path(program.binary)))
    switched, _ = cluster_features.switches(
        scenario,
        version,
        program.feature_gates,
        where=where,
        program=f"a {program.kind}",
        evicts=not is_scheduler,
    )
    if waits and version < BINDING_TIMEOUT_SINCE:
        raise errors.UsageError(
            "expected a kube-scheduler of 1.35 or newer for subject.binding_timeout_s, because "
            f"older ones always wait 600 s, got {program.binary} of {version[0]}.{version[1]}"
        )
    is_streamed = lists and (version >= STREAMED_LISTS_SINCE or not is_scheduler)
    streamed = {scheduler_commands.STREAMED_LISTS: False} if is_streamed else {}
    return {**streamed, **switched, **program.feature_gates}


def needs_lists(scenario: specs.Scenario) -> bool:
    """Return whether schedulers must list, not stream lists: cached ones are asked for or hit."""
    targets = [getattr(fault, "on", None) for fault in scenario.faults]
    return scenario.subject.lists_cached or any(on and on.verbs == ["list"] for on in targets)


def environment(scenario: specs.Scenario) -> dict[str, str]:
    gate = f"KUBE_FEATURE_{scheduler_commands.STREAMED_LISTS}"
    return {gate: "false"} if needs_lists(scenario) else {}


# ----------------------------------------------------------------------- names, versions


def versions(scenario: specs.Scenario) -> dict[str, str]:
    """Return the versions of the programs under test, as far as they have some, by process."""
    subject = scenario.subject
    known = {name: _version(item) for name, item in schedulers(subject)}
    known[naming.CLAIM_CONTROLLER] = _version(subject.claim_controller)
    if command := driver_commands.of(subject).command:
        places = driver_commands.of_run(scenario)
        known |= dict.fromkeys((x.process for x in places), program_versions.of_command(command))
    return {name: version for name, version in known.items() if version}


def _version(
    program: subject_specs.AnyScheduler | subject_specs.AnyClaimController,
) -> str:
    match program:
        case subject_specs.KubeScheduler() | subject_specs.KubeControllerManager():
            path = pathlib.Path(program.binary)
            if binaries.is_of_kubernetes(path):
                binaries.require_new_enough(path, binaries.version(path), name=program.kind)
            return f"{program.kind} {binaries.whole_version(path)}"
        case subject_specs.CommandScheduler(version_command=[asked, *arguments]):
            return binaries.version(binaries.program(asked), arguments)
        case subject_specs.CommandScheduler(command=command):
            return program_versions.of_command(command)
        case "external":
            return controller_commands.EXTERNAL
    return ""


def title(subject: subject_specs.SubjectSpec, release: str = "") -> str:
    kinds = " + ".join(item.kind for item in subject.schedulers)
    return f"{kinds} as {release}" if release else kinds


def schedulers(
    subject: subject_specs.SubjectSpec,
) -> Iterator[tuple[str, subject_specs.AnyScheduler]]:
    """Yield the schedulers by the names of their processes and logs, also those of others."""
    for index, item in enumerate(subject.schedulers):
        yield naming.scheduler(index), item


def owned_schedulers(subject: subject_specs.SubjectSpec) -> list[str]:
    return [name for name, item in schedulers(subject) if isinstance(item, OWNED)]


def owned_controllers(subject: subject_specs.SubjectSpec) -> list[str]:
    starts = subject.claim_controller not in ("cluster", "external")
    return [naming.CLAIM_CONTROLLER] if starts else []


def python_parts(subject: subject_specs.SubjectSpec) -> list[str]:
    python = subject_specs.PythonScheduler
    names = [name for name, item in schedulers(subject) if isinstance(item, python)]
    return names + [naming.CLAIM_CONTROLLER] * (subject.claim_controller == "python")
