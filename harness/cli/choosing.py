"""Options that several commands have: which cluster, which subject, which seed."""

import os
import pathlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from harness.scenario import profiles

CORES_PER_KIND = 4
"""Of a machine, for a run on kind: a whole Kubernetes, and our processes beside it."""


def _of_cluster(*names: str, **settings: Any) -> Any:
    """An option in the panel `Cluster` of `--help`."""
    return typer.Option(*names, rich_help_panel="Cluster", **settings)


Cluster = Annotated[
    str,
    _of_cluster(
        "--cluster",
        metavar="PROFILE",
        help="embedded, local, kind, kubeconfig, another shipped cluster profile, or a file of one.",
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
        "cluster[=NAME], external=NAME, command='PROGRAM {kubeconfig} {scheduler_name} …' (run in the current folder).",
    ),
]
Binaries = Annotated[
    pathlib.Path | None,
    _of_cluster(
        help="The folder of etcd, kube-apiserver and kube-scheduler (default: KUBEBUILDER_ASSETS, PATH)."
    ),
]
Kubeconfig = Annotated[
    pathlib.Path | None,
    _of_cluster(help="kubeconfig: the file (default: KUBECONFIG, ~/.kube/config)."),
]
Context = Annotated[
    str | None, _of_cluster(help="kubeconfig: which context (default: the current one).")
]
IKnow = Annotated[
    bool,
    _of_cluster(
        "--i-know-this-cluster",
        help="kubeconfig: use it although it is not marked as a test cluster.",
    ),
]
Defects = Annotated[
    list[str] | None,
    typer.Option("--defect", help="Switch a known defect of the subject on (may be repeated)."),
]
Seed = Annotated[int | None, typer.Option(help="All random numbers come from it; printed first.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        min=1,
        help=f"Runs at once (default: one a core; on kind one for {CORES_PER_KIND} cores, for each is a whole Kubernetes).",
    ),
]
Reports = Annotated[
    pathlib.Path, typer.Option("--reports", help="Run directories go below this folder.")
]

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


def jobs(asked: int | None, chosen: "profiles.Profile") -> int:
    """How many runs at once: as asked, or as the machine can bear."""
    cores = os.cpu_count() or 1
    return asked or (max(1, cores // CORES_PER_KIND) if chosen.provider == "kind" else cores)
