"""One pod with one claim before a test: a program that cannot do that is not tested for minutes."""

import math
import pathlib
import tempfile
from collections.abc import Callable

import msgspec

from harness import clocks, errors, processes
from harness.campaign.programs import tested_programs
from harness.checks import verdict_files
from harness.history import directories, last_words
from harness.model import naming
from harness.run import progressing, run_plan, runs, subjects
from harness.scenario import loading, profiles

TIMEOUT_S = 20
"""Seconds for one pod; a scheduler needs less than one, kube-scheduler up to five to begin."""
_SCENARIO = "uses-all-resources"
_WATCHED = ("resourceclaims", "pods")
_LAG = "watch-of-"
"""Begin of the names of the faults by which it is known whether the program watches."""
_LAGS = ",".join(
    f'{{kind="delay-events",name="{_LAG}{name}",on={{role="scheduler",resource="{name}"}},seconds=0.01}}'
    for name in _WATCHED
)
_ONE_POD = (
    f"faults=[{_LAGS}]",
    "pools.nodes=1",
    "pools.devices_per_node=1",
    "traffic.processes=1",
    "traffic.users=1",
    "traffic.pods=1",
    'subject.start="before-traffic"',
    "load.allocations_min=1",
    "load.pods_running_min=1",
    f"limits.timeout_s={TIMEOUT_S}",
    "limits.settle_s=1",
)
_PROVIDER = "embedded"


def rehearsed(
    program: tested_programs.TestedProgram,
    cluster: profiles.Profile,
    *,
    say: Callable[[str], object] = lambda _: None,
) -> tested_programs.TestedProgram:
    """Return what is known of a program once it has bound one pod; nothing of that stays.

    `say` is told what is waited for. Only programs that the test starts, on embedded clusters:
    others take minutes. Raises UsageError, with the program's last words, if it ends or binds
    nothing.
    """
    if program.kind not in ("kube-scheduler", "command") or cluster.provider != _PROVIDER:
        return program
    say(f"first {program.title} has to bind one pod with one claim, in {TIMEOUT_S} s at most")
    processes.prepare()
    with tempfile.TemporaryDirectory(prefix="flake-hunt-rehearsal-") as folder:
        judgement = _run(program, cluster, pathlib.Path(folder))
    reasons = [item.reason for item in judgement.certificate if not item.ok]
    deaf = [name for name in _WATCHED if any(f"{_LAG}{name}" in text for text in reasons)]
    return msgspec.structs.replace(program, only_lists=deaf)


class _Clock(progressing.Progress):
    """The time for the pod, which begins with the load."""

    end_ns = math.inf

    def phase(self, name: str) -> None:
        if name == "load":
            self.end_ns = clocks.monotonic_ns() + TIMEOUT_S * 10**9


def _run(
    program: tested_programs.TestedProgram,
    cluster: profiles.Profile,
    folder: pathlib.Path,
) -> verdict_files.Judgement:
    loaded = loading.load(_SCENARIO, overrides=_ONE_POD)
    plan = run_plan.plan(loaded, seed=1, cluster=cluster, chosen_subjects=[program.subject])
    directory, clock = runs.new_directory(plan, folder), _Clock()
    deadline = progressing.Deadline(lambda: clock.end_ns - clocks.monotonic_ns())
    try:
        judgement = runs.run(loaded, plan, directory, progress=clock, deadline=deadline)
    except (errors.SubjectError, errors.ProcessError) as error:
        raise _failed(program, directory, "it ended") from error
    if not judgement.figures.pods_running:
        raise _failed(program, directory, f"in {TIMEOUT_S} s it bound none")
    return judgement


def _failed(
    program: tested_programs.TestedProgram, directory: directories.RunDirectory, what: str
) -> errors.UsageError:
    log = directory.log(naming.scheduler(0))
    said = last_words.of_log(log, or_last_line=True)
    words = f"its last words were: {said}" if said else "it said nothing"
    hint = (
        "pass flags on after --, as in -- --v=4"
        if program.kind == "kube-scheduler"
        else "check how it takes {kubeconfig}, which KUBECONFIG names too, and {scheduler_name}, without which its pods are "
        f"those of {subjects.UNTOLD_NAME}"
    )
    return errors.UsageError(
        f"expected {program.title} to bind one pod with one claim on an embedded cluster, but {what}; "
        f"{words} ({hint})"
    )
