"""Which schedulers a run tests, and how each of them is started.

A scheduler is a process with a kubeconfig and a schedulerName, or only the name where somebody else runs it. What cannot work is refused
when the run is planned.
"""

import dataclasses
import pathlib
import shlex
import string
from collections.abc import Mapping, Sequence

import msgspec

from harness import errors, suggestions
from harness.cluster import interfaces
from harness.cluster.local import binaries
from harness.run import kube_schedulers
from harness.scenario import specs

SCHEDULER_NAME = "flake-hunt"
PROCESS = "scheduler"
CONTROLLER = "claim-controller"
PLACEHOLDERS = ("kubeconfig", "scheduler_name", "namespace", "log_dir", "run_id", "seed")
FORMS = (
    "python, kube-scheduler[=PATH], cluster[=NAME], external=NAME, command='PROGRAM {kubeconfig} …'"
)


def parse(text: str) -> specs.AnyScheduler:
    """The scheduler that `--subject` names; UsageError for none of the forms."""
    kind, _, value = text.partition("=")
    match kind, value:
        case "python", "":
            return specs.PythonScheduler()
        case "kube-scheduler", _:
            return specs.KubeScheduler(kind="kube-scheduler", binary=value)
        case "cluster", "":
            return specs.ClusterScheduler(kind="cluster")
        case "cluster", _:
            return specs.ClusterScheduler(kind="cluster", scheduler_name=value)
        case "external", value if value:
            return specs.ExternalScheduler(kind="external", scheduler_name=value)
        case "command", value if value.strip():
            return specs.CommandScheduler(kind="command", command=_words(value))
    known = ("python", "kube-scheduler", "cluster", "external", "command")
    near = suggestions.did_you_mean(kind, known)
    raise errors.UsageError(f"expected a subject ({FORMS}), got {text!r}.{near}")


def resolve(
    subject: specs.SubjectSpec,
    *,
    chosen: Sequence[str],
    defects: Sequence[str],
    on: interfaces.Capabilities,
    folder: str,
) -> specs.SubjectSpec:
    """The subject with names, paths and the claim controller decided; UsageError for what cannot work on this cluster.

    `chosen` replaces the scenario's schedulers; binaries are looked for in `folder` (empty: where envtest looks).
    """
    schedulers = [parse(text) for text in chosen] or subject.schedulers
    named = [_resolved(item, number, folder) for number, item in enumerate(schedulers)]
    for item in named:
        _require_usable(item, on)
    if defects and not any(isinstance(item, specs.PythonScheduler) for item in named):
        raise errors.UsageError(
            f"expected the python subject for --defect {defects[0]}: the known defects are its own"
        )
    return subject.model_copy(
        update={"schedulers": named, "claim_controller": _controller(subject.claim_controller, on)}
    )


def _resolved(scheduler: specs.AnyScheduler, number: int, folder: str) -> specs.AnyScheduler:
    default = SCHEDULER_NAME if number == 0 else f"{SCHEDULER_NAME}-{number + 1}"
    changes: dict[str, object] = {"scheduler_name": scheduler.scheduler_name or default}
    if isinstance(scheduler, specs.KubeScheduler):
        changes["binary"] = str(_kube_scheduler(scheduler.binary, folder))
    return scheduler.model_copy(update=changes)


def _kube_scheduler(path: str, folder: str) -> pathlib.Path:
    return binaries.program(path) if path else binaries.find("kube-scheduler", folder)


def _require_usable(scheduler: specs.AnyScheduler, on: interfaces.Capabilities) -> None:
    if isinstance(scheduler, specs.ClusterScheduler) and not on.scheduler:
        raise errors.UsageError(
            "expected a cluster that runs a kube-scheduler of its own (subject `cluster`), and this one does not: "
            "take --subject kube-scheduler, or --cluster kind"
        )
    if isinstance(scheduler, specs.CommandScheduler):
        binaries.program(scheduler.command[0])
        for word in scheduler.command:
            _placeholders(word)


def _controller(wanted: str, on: interfaces.Capabilities) -> str:
    own = "cluster" if on.claim_controller else "python"
    if wanted in ("auto", own):
        return own
    if wanted == "python":
        raise errors.UsageError(
            "expected a cluster without a ResourceClaim controller for subject.claim_controller = 'python', but this one runs its own, "
            "and two would make every claim twice: leave it out, or switch the cluster's off in the profile"
        )
    raise errors.UsageError(
        "expected a cluster that runs a ResourceClaim controller for subject.claim_controller = 'cluster', and this one does not: "
        "leave it out, and ours is started"
    )


def versions(subject: specs.SubjectSpec) -> dict[str, str]:
    """Scheduler's process name -> what it says of itself, for the plan; UsageError for a binary that cannot run here."""
    found = {}
    for name, scheduler in zip(process_names(subject), subject.schedulers, strict=True):
        if isinstance(scheduler, specs.KubeScheduler):
            path = pathlib.Path(scheduler.binary)
            said = binaries.version(path)
            if path.name in binaries.OLDEST:
                binaries.require_new_enough(path, said)
            found[name] = f"kube-scheduler {said}"
        elif isinstance(scheduler, specs.CommandScheduler) and scheduler.version_command:
            program, *arguments = scheduler.version_command
            found[name] = binaries.version(binaries.program(program), arguments)
    return found


def title(subject: specs.SubjectSpec) -> str:
    """`python`, `kube-scheduler`, `python + external`: for tables."""
    return " + ".join(item.kind for item in subject.schedulers)


def process_names(subject: specs.SubjectSpec) -> list[str]:
    """`scheduler`, `scheduler-2`, …: how their processes and logs are called, started by us or not."""
    return [
        PROCESS if index == 0 else f"{PROCESS}-{index + 1}"
        for index in range(len(subject.schedulers))
    ]


def python_parts(subject: specs.SubjectSpec) -> list[str]:
    """The processes of the subject that are ours, and so record their steps."""
    schedulers = [
        name
        for name, item in zip(process_names(subject), subject.schedulers, strict=True)
        if isinstance(item, specs.PythonScheduler)
    ]
    return schedulers + ([CONTROLLER] if subject.claim_controller == "python" else [])


# ------------------------------------------------------------------------------ starting


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a foreign scheduler has to know of the run."""

    kubeconfig: pathlib.Path
    """Over TLS: Go's clients drop credentials elsewhere."""
    namespace: str
    run_id: str
    seed: int
    folder: pathlib.Path
    """For its configuration and logs."""
    protobuf: bool


def command(
    name: str,
    scheduler: specs.AnyScheduler,
    subject: specs.SubjectSpec,
    around: Surroundings,
) -> list[str] | None:
    """The command line of a foreign scheduler, whose files are written; None when somebody else runs it."""
    if isinstance(scheduler, specs.KubeScheduler):
        file = around.folder / f"{name}-configuration.json"
        document = kube_schedulers.configuration(
            scheduler, subject, kubeconfig=around.kubeconfig, protobuf=around.protobuf
        )
        file.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2))
        return kube_schedulers.command(scheduler, file)
    if isinstance(scheduler, specs.CommandScheduler):
        return _filled(name, scheduler, around)
    return None


def _filled(name: str, scheduler: specs.CommandScheduler, around: Surroundings) -> list[str]:
    log_dir = around.folder / name
    log_dir.mkdir(exist_ok=True)
    values: Mapping[str, str] = {
        "kubeconfig": str(around.kubeconfig),
        "scheduler_name": scheduler.scheduler_name,
        "namespace": around.namespace,
        "log_dir": str(log_dir),
        "run_id": around.run_id,
        "seed": str(around.seed),
    }
    program, *rest = scheduler.command
    return [str(binaries.program(program)), *(word.format_map(values) for word in rest)]


def _placeholders(word: str) -> None:
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(word) if name is not None]
    except ValueError as error:
        raise errors.UsageError(
            f"expected braces around a placeholder in the subject's command, got {word!r} ({error}); write {{{{ for a brace"
        ) from error
    for name in names:
        if name not in PLACEHOLDERS:
            known = " ".join(f"{{{item}}}" for item in PLACEHOLDERS)
            raise errors.UsageError(
                f"expected a placeholder of the subject's command, got {{{name}}} in {word!r}. Known: {known}"
            )


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise errors.UsageError(
            f"expected a command line as for a shell, got {text!r} ({error})"
        ) from error
