"""Stand-alone parts of the harness: kubelets with a DRA driver, load, recorder, fault proxy."""

import pathlib
from collections.abc import Sequence
from typing import Annotated

import typer

from harness import errors
from harness.cli.subcommands.parts import cluster_parts

CDI_FOLDER = "/var/run/cdi"
"""Where drivers on real nodes write their CDI files."""


def kubelet(
    kubeconfig: cluster_parts.Kubeconfig,
    namespace: cluster_parts.Namespace = None,
    node: Annotated[
        list[str] | None,
        typer.Option(help="Act only for this fake node (may be repeated; default: all)."),
    ] = None,
    defect: cluster_parts.Defects = None,
    *,
    settings: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--settings", help="JSON: exclusivity, termination_s, prepare, unprepare, conditions."
        ),
    ] = None,
    state: Annotated[
        pathlib.Path | None,
        typer.Option(help="Keep checkpoints and CDI files in this folder (default: in memory)."),
    ] = None,
    plugins_registry: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="Call the DRA drivers that register in this folder, as a real kubelet does in its plugins_registry; {node}: one folder a node (default: the test driver in this process).",
        ),
    ] = "",
    cdi_dir: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="Folder with the CDI files of these drivers; {node}: one folder a node (default: /var/run/cdi).",
        ),
    ] = "",
    wait_for_driver: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Be ready only once this driver is registered on each node; fail after 20 s (may be repeated).",
        ),
    ] = None,
    preparations: Annotated[
        pathlib.Path | None, typer.Option(help="Journal prepared claims in this file.")
    ] = None,
    operations: Annotated[
        pathlib.Path | None, typer.Option(help="Journal the writes in this file.")
    ] = None,
    changes: Annotated[
        pathlib.Path | None,
        typer.Option(help="JSON: changes of the pools, as pools.changes of a scenario."),
    ] = None,
    changes_journal: Annotated[
        pathlib.Path | None, typer.Option(help="Journal the changes of pools in this file.")
    ] = None,
    run_id: Annotated[str, typer.Option(hidden=True)] = "",
    seed: Annotated[int, typer.Option(hidden=True)] = 0,
    ready_file: cluster_parts.ReadyFile = None,
) -> int:
    """Run the kubelets of all fake nodes, with DRA drivers, against any kubeconfig.

    Drivers register in the folder --plugins-registry; without it, the test driver is in the same
    process.
    """
    from harness.cluster.dra import kubelet_defects, node_claims
    from harness.cluster.driver import driver_settings
    from harness.cluster.fake_nodes import kubelet_process
    from harness.cluster.pool_changes import pool_changers

    cluster_parts.require_defects_of("kubelet", defect or ())
    _require_registry(plugins_registry, cdi_dir, wait_for_driver or ())
    _require_own_driver(plugins_registry, defect or ())
    return kubelet_process.run(
        kubelet_process.KubeletOptions(
            kubeconfig=kubeconfig,
            namespace=namespace,
            operations=operations,
            run_id=run_id,
            plugins_registry=plugins_registry,
            required_drivers=tuple(wait_for_driver or ()),
            note=cluster_parts.note,
            only_nodes=tuple(node or ()),
            claims=node_claims.NodeClaimsOptions(
                driver=driver_settings.read(settings),
                cdi=(cdi_dir or CDI_FOLDER) if plugins_registry else "",
                state=state,
                journal=preparations,
                parts=kubelet_defects.parts(defect or ()),
                run_id=run_id,
                seed=seed,
            ),
            pool_changes=pool_changers.options(
                changes, journal=changes_journal, run_id=run_id, seed=seed
            ),
            ready_file=ready_file,
        )
    )


def _require_registry(plugins_registry: str, cdi_dir: str, drivers: Sequence[str]) -> None:
    """Raise UsageError for options of drivers behind sockets without their registry."""
    given = {"--cdi-dir": cdi_dir, "--wait-for-driver": next(iter(drivers), "")}
    for option, value in given.items():
        if value and not plugins_registry:
            raise errors.UsageError(
                f"expected --plugins-registry with {option} {value}: the driver in this process "
                "registers nowhere"
            )


def _require_own_driver(plugins_registry: str, defects: Sequence[str]) -> None:
    """Raise UsageError for a defect of the driver if that is another process."""
    if not plugins_registry or not defects:
        return
    from harness.cluster.dra import kubelet_defects

    for name in filter(kubelet_defects.is_of_driver, defects):
        raise errors.UsageError(
            f"expected a defect of the kubelet with --plugins-registry, got {name!r}, which is one "
            "of the driver: give it to `flake-hunt driver`"
        )


def record(
    kubeconfig: cluster_parts.Kubeconfig,
    run_directory: Annotated[
        pathlib.Path,
        typer.Option(
            help="Run directory; its plan.json names the resources to record and the compression."
        ),
    ],
    ready_file: cluster_parts.ReadyFile = None,
) -> int:
    """Record every commit that the API server publishes, in observations.jsonl of a run directory.

    With recording.compression = "zstd" in the scenario it is observations.jsonl.zst, with a zstd
    block for each write; `zstd -dc` prints it.
    """
    from harness.client import recorders

    return recorders.run(
        recorders.RecorderOptions(
            kubeconfig=kubeconfig, run_directory=run_directory, ready_file=ready_file
        )
    )


def fault_proxy(
    settings: Annotated[
        pathlib.Path,
        typer.Option(
            help="JSON: clients (name, kubeconfig, proxied_kubeconfig, port), admin (kubeconfig, port)."
        ),
    ],
    ready_file: cluster_parts.ReadyFile = None,
) -> int:
    """Pass the requests of clients to the API server of any cluster, with faults on demand."""
    from harness.fault_proxy import process

    return process.serve(settings, ready_file=ready_file, note=cluster_parts.note)
