"""Options that several commands have: which cluster, which subject, which seed."""

import math
import os
import pathlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness import errors

if TYPE_CHECKING:
    from harness.scenario import profiles

PROCESSES_PER_CORE = 8
"""More processes that all work make nothing faster, and many more bring a machine down."""
REPEAT_MAX = 10_000
"""Every run of a campaign is planned before the first one is made."""
CORES_PER_KIND = 4
"""Of a machine, for a run on kind: a whole Kubernetes, and our processes beside it."""


def scenario_names() -> list[str]:
    """Return the shipped scenarios, for the completion of shells."""
    from harness.scenario import loading

    return loading.shipped_names()


def _profile_names() -> list[str]:
    from harness.scenario import profiles

    return profiles.shipped_names()


def _defect_names() -> list[str]:
    from harness.subject import defects

    return list(defects.names())


def require_number(value: float | None) -> float | None:
    """Reject `nan` and `inf`, which pass every range."""
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"expected a finite number, got {value}")
    return value


def _of_cluster(*names: str, **settings: Any) -> Any:
    """An option in the panel `Cluster` of `--help`."""
    return typer.Option(*names, rich_help_panel="Cluster", **settings)


Cluster = Annotated[
    str,
    _of_cluster(
        "--cluster",
        metavar="PROFILE",
        autocompletion=_profile_names,
        help="embedded, local, kind, kubeconfig, another shipped cluster profile, or a profile's file.",
    ),
]
ClusterSet = Annotated[
    list[str] | None,
    _of_cluster(
        "--cluster-set",
        metavar="KEY=VALUE",
        help="Change the profile: --cluster-set storage=disk (may be repeated).",
    ),
]
Subject = Annotated[
    list[str] | None,
    _of_cluster(
        "--subject",
        metavar="SUBJECT",
        help="Test this scheduler instead of the scenario's (may be repeated): python, kube-scheduler[=PATH], "
        "cluster[=NAME], external=NAME, command='PROGRAM {kubeconfig} {scheduler_name} ...' (run in the current folder).",
    ),
]
Binaries = Annotated[
    pathlib.Path | None,
    _of_cluster(
        help="Folder of etcd, kube-apiserver and kube-scheduler (default: KUBEBUILDER_ASSETS, then PATH)."
    ),
]
Kubeconfig = Annotated[
    pathlib.Path | None,
    _of_cluster(
        help="With --cluster kubeconfig: its file (default: KUBECONFIG, then ~/.kube/config)."
    ),
]
Context = Annotated[
    str | None,
    _of_cluster(help="With --cluster kubeconfig: its context (default: the current one)."),
]
IKnow = Annotated[
    bool,
    _of_cluster(
        "--i-know-this-cluster",
        help="With --cluster kubeconfig: use a cluster that is not marked as a test cluster.",
    ),
]
Defects = Annotated[
    list[str] | None,
    typer.Option(
        "--defect",
        autocompletion=_defect_names,
        help="Switch on a known defect of the Python scheduler (may be repeated).",
    ),
]
Seed = Annotated[int | None, typer.Option(help="Seed of all random numbers; printed first.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help=f"Number of runs at once (default: one per core; on kind one per {CORES_PER_KIND} cores).",
    ),
]
Force = Annotated[
    bool,
    typer.Option("--force", help=f"Allow more than {PROCESSES_PER_CORE} processes per core."),
]
Reports = Annotated[pathlib.Path, typer.Option("--reports", help="Folder for the run directories.")]

Summary = Annotated[
    pathlib.Path | None,
    typer.Option(
        "--summary", help="Append a summary in Markdown to this file ($GITHUB_STEP_SUMMARY)."
    ),
]


def profile(
    name: str,
    overrides: list[str] | None,
    binaries: pathlib.Path | None,
    kubeconfig: pathlib.Path | None,
    context: str | None,
    *,
    is_known: bool,
) -> "profiles.Profile":
    """The profile that the options mean; ScenarioError for what there is not."""
    import json

    from harness.scenario import profiles

    chosen = list(overrides or ())
    if binaries is not None and profiles.load(name).provider == "local":
        chosen.append(f"binaries={json.dumps(str(binaries.resolve()))}")
    if kubeconfig is not None:
        chosen.append(f"kubeconfig={json.dumps(str(kubeconfig.resolve()))}")
    if context is not None:
        chosen.append(f"context={json.dumps(context)}")
    if is_known:
        chosen.append("i_know_this_cluster=true")
    return profiles.load(name, overrides=chosen)


def folder(binaries: pathlib.Path | None) -> str:
    """The folder of the binaries for the plan; empty when none was named."""
    return "" if binaries is None else str(binaries.resolve())


def jobs(asked: int | None, chosen: "profiles.Profile", *, is_forced: bool) -> int:
    """Return the number of runs at once: as asked, or as the machine can bear. UsageError for far too many."""
    cores = os.cpu_count() or 1
    if asked is not None:
        require_bearable("--jobs", asked, is_forced=is_forced)
    return asked or (max(1, cores // CORES_PER_KIND) if chosen.provider == "kind" else cores)


def require_bearable(what: str, count: int, *, is_forced: bool) -> None:
    """Raise UsageError for more processes than this machine can bear, unless the user insists."""
    cores = os.cpu_count() or 1
    most = PROCESSES_PER_CORE * cores
    if count > most and not is_forced:
        raise errors.UsageError(
            f"expected {what} to be at most {most} on this machine ({PROCESSES_PER_CORE} per core), got {count}: "
            "use fewer, or insist with --force"
        )
