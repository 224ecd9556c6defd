"""Names of tested subjects: the same in verdicts, on pages, in tables and on the terminal.

`correct` is the Python subject without defects. A scheduler that others wrote is named with its
version, whatever its runs have shown.
"""

import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from harness.history import plans
from harness.model import naming

CORRECT = "correct"
"""The Python subject without defects."""
PYTHON = "python"
EXPLORED = "python, explored"
"""Kind of the Python scheduler in a run of the explorer."""
_OURS = frozenset({PYTHON, EXPLORED})
_OF_CLUSTER = "cluster"
"""Kind of a scheduler that the cluster runs itself."""
COMMAND = "command"
"""Kind of another program that the run starts; it is named after the program."""
_INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*|(?:ba|da|z)?sh|node|ruby|perl|java", re.I)
EXTERNAL = "external"
"""Kind of a scheduler that was started outside the harness; its version is not known."""


def of_plan(plan: plans.Plan) -> str:
    """Return the subject of a run: its defects and remedies, or its schedulers and controller.

    Labels distinguish schedulers of others. Several Python schedulers are counted, and one in the
    explorer is marked.
    """
    kinds, defects = _kinds(plan), ", ".join(plan.defects)
    if is_ours(plan):
        base = defects or _ours(plan)
    else:
        given = labels(plan.settings)
        named = [
            _ours(plan) if kind == PYTHON else _foreign(index, kind, plan, given)
            for index, kind in enumerate(kinds)
        ]
        base = " + ".join(named) + f" with {defects}" * bool(defects)
    name = " + ".join([base, *plan.remedies, *_controllers(plan)])
    return f"{name} (explored)" if kinds == [EXPLORED] else name + several(plan)


def is_ours(plan: plans.Plan) -> bool:
    """Return whether all schedulers are Python schedulers."""
    return set(_kinds(plan)) <= _OURS


def several(plan: plans.Plan) -> str:
    """Return ` (2 schedulers)` for two Python schedulers; empty for one, or if others are there."""
    count = len(_kinds(plan))
    return f" ({count} schedulers)" if count > 1 and is_ours(plan) else ""


def is_correct(name: str) -> bool:
    """Return whether a name is that of one or several Python schedulers without defects."""
    return name.partition(" (")[0] == CORRECT


def labels(settings: Mapping[str, Any]) -> list[str]:
    """Return a label of each scheduler in the settings of a run.

    It is the name of the program if the run starts one, and the `schedulerName` otherwise.
    """
    subject = settings.get("subject")
    schedulers = subject.get("schedulers") if isinstance(subject, dict) else None
    found = schedulers if isinstance(schedulers, list) else []
    return [_label(item) for item in found if isinstance(item, dict)]


def _label(scheduler: Mapping[str, Any]) -> str:
    command = scheduler.get("command")
    if scheduler.get("kind") == COMMAND and isinstance(command, list) and command:
        return pathlib.PurePath(words_of_program([*map(str, command)])[-1]).name
    return str(scheduler.get("scheduler_name", ""))


def words_of_program(command: Sequence[str]) -> list[str]:
    """Return the words of a command line up to the program, which may be one of an interpreter.

    `python -m own.scheduler {kubeconfig}` ends with `own.scheduler`.
    """
    if not _INTERPRETER.fullmatch(pathlib.PurePath(command[0]).name):
        return [command[0]]
    for index, word in enumerate(command[1:], 1):
        if word in ("-m", "-jar"):
            continue
        if word in ("-c", "-e") or "{" in word:
            break
        if not word.startswith("-"):
            return [*command[: index + 1]]
    return [command[0]]


def _kinds(plan: plans.Plan) -> list[str]:
    return plan.subject.partition(" as ")[0].split(" + ")


def _ours(plan: plans.Plan) -> str:
    """Return the Python scheduler without its defects and remedies; correct only among ours."""
    release = plan.subject.partition(" as ")[2]
    if release:
        return f"{PYTHON} as {release}"
    is_pure = is_ours(plan) and not plan.remedies and not _controllers(plan)
    return CORRECT if is_pure else PYTHON


def _controllers(plan: plans.Plan) -> list[str]:
    found = plan.versions.get(naming.CLAIM_CONTROLLER)
    return [found] if found else []


def versions(of_plan: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of the programs under test, by process name, of all those of a plan."""
    return {
        name: version
        for name, version in of_plan.items()
        if name.startswith(naming.scheduler(0)) or name == naming.CLAIM_CONTROLLER
    }


def _foreign(index: int, kind: str, plan: plans.Plan, given: Sequence[str]) -> str:
    if kind == _OF_CLUSTER:
        return f"kube-scheduler of {plan.cluster_profile.get('name', 'the cluster')}"
    if kind == EXTERNAL and index < len(given):
        return f"{kind} {given[index]}".strip()
    if kind == COMMAND and index < len(given):
        kind = given[index]
    version = plan.versions.get(naming.scheduler(index), "")
    return version if version.startswith(kind) else f"{kind} {version}".strip()
