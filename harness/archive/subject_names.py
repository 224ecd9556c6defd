"""Names of tested subjects for tables and titles.

`correct` is the Python subject without defects. A scheduler that others wrote is named with its
version, whatever its runs have shown.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

CORRECT = "correct"
"""The Python subject without defects."""
PYTHON = "python"
_OF_CLUSTER = "cluster"
"""Kind of a scheduler that the cluster runs itself."""
_EXTERNAL = "external"
"""Kind of a scheduler that was started outside the harness; its version is not known."""


class Planned(Protocol):
    """The parts of a plan that name its subject."""

    @property
    def subject(self) -> str:
        """Kinds of the schedulers, joined by ` + `, and the release that they are like."""

    @property
    def defects(self) -> Sequence[str]:
        """Known defects of the Python subject."""

    @property
    def remedies(self) -> Sequence[str]:
        """Remedies that the Python subject was given."""

    @property
    def versions(self) -> Mapping[str, str]:
        """Versions of programs; those of schedulers by process name."""

    @property
    def cluster_profile(self) -> Mapping[str, object]:
        """The cluster profile."""


def of_run(plan: Planned, names: Sequence[str] = ()) -> str:
    """Return the subject of a run: its defects and remedies, or its schedulers.

    `names` are the `schedulerName` of each, which tell schedulers apart that others started.
    """
    kinds, _, release = plan.subject.partition(" as ")
    is_python = set(kinds.split(" + ")) == {PYTHON}
    if not is_python:
        base = _foreign(kinds.split(" + "), plan, names)
    else:
        base = PYTHON if plan.remedies else CORRECT
    if release:
        base = f"{PYTHON} as {release}"
    return " + ".join([", ".join(plan.defects) or base, *plan.remedies])


def scheduler_names(settings: Mapping[str, Any]) -> list[str]:
    """Return the `schedulerName` of each scheduler in the settings of a run."""
    schedulers = (settings.get("subject") or {}).get("schedulers") or []
    return [str(item.get("scheduler_name", "")) for item in schedulers]


def _foreign(kinds: Sequence[str], plan: Planned, given: Sequence[str]) -> str:
    """Return the schedulers, each with its version if that is known."""
    names = []
    for number, kind in enumerate(kinds, start=1):
        process = "scheduler" if number == 1 else f"scheduler-{number}"
        if kind == _OF_CLUSTER:
            names.append(f"kube-scheduler of {plan.cluster_profile.get('name', 'the cluster')}")
        elif kind == _EXTERNAL and number <= len(given):
            names.append(f"{kind} {given[number - 1]}")
        else:
            version = plan.versions.get(process, "")
            names.append(version if version.startswith(kind) else f"{kind} {version}".strip())
    return " + ".join(names)
