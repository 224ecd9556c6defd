"""Finds out what a program is that a user names: kube-scheduler, a stranger's, or ours."""

import pathlib
import shlex
import shutil
from collections.abc import Sequence

from harness import errors, placeholders
from harness.campaign.programs import tested_programs
from harness.cluster.local import binaries
from harness.extensions import discovery
from harness.history import subject_names
from harness.run import subjects
from harness.run.programs import program_versions, scheduler_commands
from harness.scenario import subject_specs

OURS = "our Python scheduler"
KUBE_SCHEDULER = "kube-scheduler"
FORMS = (
    "./kube-scheduler, a version such as 1.36.3, 'python scheduler.py {kubeconfig} {scheduler_name}', python (ours), "
    "cluster, or a plug-in's name"
)

_ABOUT = "Kubernetes scheduler"
"""kube-scheduler's help begins with these words, also in builds with further plug-ins."""


def identify(text: str, flags: Sequence[str], folder: str) -> tested_programs.TestedProgram:
    """Return what a program is, with its version; `folder` has binaries of Kubernetes."""
    found = subject(text, flags)
    scheduler = subjects.parse(found)
    if flags and scheduler.kind not in (KUBE_SCHEDULER, subject_names.COMMAND):
        raise errors.UsageError(
            f"expected flags only for a program that the test starts, got {' '.join(flags)} for "
            f"{text}: leave them out"
        )
    name, version = _named(scheduler, folder)
    return tested_programs.TestedProgram(
        kind=scheduler.kind, name=name, version=version, subject=found, flags=list(flags)
    )


def subject(text: str, flags: Sequence[str]) -> str:
    kind, equals, value = text.partition("=")
    more = "".join(f" {shlex.quote(flag)}" for flag in flags)
    if kind == KUBE_SCHEDULER and (equals or kind == text):
        return _of_kube_scheduler(value, more)
    if binaries.is_version(text):
        return _of_kube_scheduler(text, more)
    if kind in subjects.KINDS and (equals or kind == text):
        return _of_command(_words(value), more) if kind == "command" else text
    if discovery.named("subjects", text, shipped=subjects.KINDS):
        return text
    words = _words(text)
    if _is_kube_scheduler(_require(words[0])):
        return _of_kube_scheduler(text, more)
    return _of_command(words, more)


def _of_kube_scheduler(words: str, more: str) -> str:
    return f"{KUBE_SCHEDULER}={words}{more}" if words or more else KUBE_SCHEDULER


def _of_command(words: Sequence[str], more: str) -> str:
    """Return a stranger's command. Raises UsageError for one that cannot be started."""
    _require(words[0])
    for word in words:
        scheduler_commands.check_placeholders(word)
    return f"command={shlex.join(words)}{more}"


def _words(text: str) -> list[str]:
    words = placeholders.words(text)
    if not words:
        raise errors.UsageError(f"expected a program to test ({FORMS}), got nothing")
    return words


def _named(scheduler: subject_specs.AnyScheduler, folder: str) -> tuple[str, str]:
    """Return the name of a scheduler for sentences, and its version; empty: not known."""
    if isinstance(scheduler, subject_specs.PythonScheduler):
        return OURS, ""
    if isinstance(scheduler, subject_specs.KubeScheduler):
        path = scheduler_commands.binary(KUBE_SCHEDULER, scheduler.binary, folder)
        _require(str(path))
        version = binaries.version(path)
        binaries.require_new_enough(path, version, name=KUBE_SCHEDULER)
        return KUBE_SCHEDULER, binaries.whole_version(path).removeprefix("v")
    if isinstance(scheduler, subject_specs.CommandScheduler):
        words = subject_names.words_of_program(scheduler.command)
        return pathlib.PurePath(words[-1]).name, program_versions.of_command(scheduler.command)
    return f"the kube-scheduler {scheduler.scheduler_name!r}", ""


def _require(name: str) -> pathlib.Path:
    """Return a program given by path or by its name on PATH; raise UsageError for a folder."""
    path = pathlib.Path(name)
    if shutil.which(name) is None and path.is_dir():
        raise errors.UsageError(
            f"expected a program, got the folder {name}: name the file in it, such as {path / 'kube-scheduler'}"
        )
    return binaries.program(name)


def _is_kube_scheduler(path: pathlib.Path) -> bool:
    """Return whether a program says that it is a kube-scheduler, whatever its file's name."""
    _, version = program_versions.said((str(path), "--version"))
    if not "".join(version[:1]).startswith("Kubernetes v"):
        return False
    _, about = program_versions.said((str(path), "--help"))
    if _ABOUT in "".join(about[:1]):
        return True
    raise errors.UsageError(
        f"expected a scheduler, got {path}, which says that it is another program of {version[0]}: "
        "name the kube-scheduler"
    )
