"""Options that choose a cluster, for every command that has them."""

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from harness.scenario import profiles

_PANEL = "Cluster"
Cluster = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="PROFILE",
        help="embedded, local, kind, kubeconfig, another shipped cluster profile, or a file of one.",
        rich_help_panel=_PANEL,
    ),
]
ClusterSet = Annotated[
    list[str] | None,
    typer.Option(
        "--cluster-set",
        metavar="KEY=VALUE",
        help="Change the profile: --cluster-set storage=disk (may be repeated).",
        rich_help_panel=_PANEL,
    ),
]
Subject = Annotated[
    list[str] | None,
    typer.Option(
        "--subject",
        metavar="SUBJECT",
        help="Test this scheduler instead of the scenario's (may be repeated): python, kube-scheduler[=PATH], "
        "cluster[=NAME], external=NAME, command='PROGRAM {kubeconfig} {scheduler_name} …'.",
        rich_help_panel=_PANEL,
    ),
]
Binaries = Annotated[
    pathlib.Path | None,
    typer.Option(
        help="The folder of etcd, kube-apiserver and kube-scheduler (default: KUBEBUILDER_ASSETS, PATH).",
        rich_help_panel=_PANEL,
    ),
]
Kubeconfig = Annotated[
    pathlib.Path | None,
    typer.Option(
        help="kubeconfig: the file (default: KUBECONFIG, ~/.kube/config).", rich_help_panel=_PANEL
    ),
]
Context = Annotated[
    str | None,
    typer.Option(help="kubeconfig: which context (default: current).", rich_help_panel=_PANEL),
]
IKnow = Annotated[
    bool,
    typer.Option(
        "--i-know-this-cluster",
        help="kubeconfig: run on it although it is not marked as a test cluster.",
        rich_help_panel=_PANEL,
    ),
]


def profile(
    name: str,
    *,
    overrides: list[str] | None = None,
    binaries: pathlib.Path | None = None,
    kubeconfig: pathlib.Path | None = None,
    context: str | None = None,
    i_know_this_cluster: bool = False,
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
    if i_know_this_cluster:
        chosen.append("i_know_this_cluster=true")
    return profiles.load(name, overrides=chosen)


def folder(binaries: pathlib.Path | None) -> str:
    """The folder of the binaries for the plan; empty when none was named."""
    return "" if binaries is None else str(binaries.resolve())
