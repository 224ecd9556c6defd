"""`flake-hunt doctor|cluster`: what this machine can have, and the clusters that it has.

`doctor` asks for the requirements of clusters, and for the plug-ins of other packages.
"""

import pathlib
from collections.abc import Collection
from typing import TYPE_CHECKING

import typer

from harness import clocks, errors
from harness.cli import choosing, options
from harness.cli.terminal import outputs

if TYPE_CHECKING:
    from harness.cluster import cluster_records
    from harness.extensions import entry_points

_STYLES = {"ok": "green", "warning": "yellow", "missing": "bold red"}


def doctor(
    provider: str | None = options.argument(
        "Check only the requirements of embedded, local, kind or kubeconfig clusters.",
        "PROVIDER",
        default=None,
    ),
    plugins: bool = options.flag(
        "List the plug-ins of other packages instead, and whether each can be used.", "--plugins"
    ),
    output: outputs.Form = outputs.FORM,
) -> int:
    """Check the requirements of each kind of cluster on this machine, or of plug-ins.

    Exit code 0 if the named kind is ready (without a name, at least one kind); otherwise 1.

    Plug-ins are packages with entry points (groups flake_hunt.scenarios, .clusters, .traffic,
    .checks, .subjects, .defects, .faults); FLAKE_HUNT_PLUGINS names folders of packages that are
    not installed. Exit code 2 if one cannot be used.
    """
    import rich.text

    from harness.cli.terminal import displaying
    from harness.cluster import doctor as checks

    if plugins:
        return _list_plugins(output)
    asked = checks.PROVIDERS if provider is None else (provider,)
    with outputs.chosen(output) as out:
        findings = [
            finding
            for name in asked
            for finding in checks.examine(name, contact=provider is not None)
        ]
        missing = {item.provider for item in findings if item.state == "missing"}
        ready = [name for name in asked if name not in missing]
        if out.is_json:
            found = [item._asdict() for item in findings]
            out.document({"schema": 1, "ready": ready, "findings": found})
        else:
            titles = ("cluster", "part", "state", "seen", "what to do")
            rows = (
                (*item[:2], rich.text.Text(item.state, _STYLES[item.state]), *item[3:])
                for item in findings
            )
            displaying.console().print(displaying.table(titles, rows))
            parts = (("Ready", ready), ("Not ready", sorted(missing)))
            said = [f"{title}: {', '.join(names)}." for title, names in parts if names]
            print(f"\n{' '.join(said)}")
    return 0 if ready else 1


def _list_plugins(form: str) -> int:
    from harness.cli.terminal import displaying
    from harness.extensions import descriptions

    with outputs.chosen(form) as out:
        found = descriptions.listed(_shipped())
        if out.is_json:
            out.document(found)
        else:
            titles = ("kind", "name", "package", "version", "state")
            rows = [
                (item.kind, item.name, item.package, item.version, item.problem or "ok")
                for item in found.plugins
            ]
            if rows:
                displaying.console().print(displaying.table(titles, rows))
            print(found.problem or f"\n{outputs.counted(len(rows), 'plug-in')}.")
    is_bad = found.problem or any(item.problem for item in found.plugins)
    return errors.UsageError.exit_code if is_bad else 0


def _shipped() -> "dict[entry_points.Kind, Collection[str]]":
    from harness.checks import check_registry
    from harness.run import subjects
    from harness.run.defects import known_defects
    from harness.scenario import loading, profiles

    return {
        "scenarios": loading.every_name(),
        "clusters": profiles.SHELF.names(),
        "checks": [check.name for check in check_registry.CHECKS],
        "subjects": subjects.KINDS,
        "defects": known_defects.names(),
    }


# -------------------------------------------------------------------------------- clusters

NAME = options.argument("Name of the cluster.", default="flake-hunt")

cluster = typer.Typer(help="Clusters that stay until you take them down.", no_args_is_help=True)


@cluster.command()
@choosing.with_groups
def up(
    options: choosing.ProfileOptions,
    name: str = NAME,
    nodes: int = options.of(
        "Number of fake nodes, worker-0 and so on.", min=1, max=5000, default=8
    ),
    devices_per_node: int = options.of(
        "Number of devices of each node.", min=1, max=1280, default=100
    ),
) -> int:
    """Start a cluster with worker-N device pools and fake kubelets."""
    from harness.cluster.lifecycle import held_clusters
    from harness.scenario import pool_specs, possibility

    spec = pool_specs.PoolsSpec(nodes=nodes, devices_per_node=devices_per_node)
    for objection in possibility.of_pools(spec):
        raise errors.UsageError(objection)
    entry = held_clusters.up(name, options.profile(), spec)
    print(f"Cluster {name!r} is up: {nodes} nodes with {devices_per_node} devices each.\n")
    print(f"    export KUBECONFIG={entry.kubeconfig}")
    print("    kubectl get nodes,resourceslices")
    print("    flake-hunt part scheduler & flake-hunt part claim-controller &\n")
    print(f"Take it down with: flake-hunt cluster down {name}")
    return 0


@cluster.command("list")
def list_clusters(output: outputs.Form = outputs.FORM) -> None:
    """Show the existing clusters, including those of runs."""
    from harness.cluster import cluster_records

    with outputs.chosen(output) as out:
        rows = [_row(entry) for entry in cluster_records.known()]
        if out.is_json:
            out.document({"schema": 1, "clusters": rows})
        elif not rows:
            print("No clusters. Start one with: flake-hunt cluster up")
        else:
            headings = [name.upper() for name in rows[0]]
            for line in outputs.aligned([headings, *(list(row.values()) for row in rows)]):
                print(line)


def _row(entry: "cluster_records.ClusterRecord") -> dict[str, str]:
    from harness.cluster.lifecycle import prune

    if entry.is_held:
        state = f"{'starting' if entry.stays else 'a run'} (pid {entry.owner.pid})"
    else:
        try:
            state = "up" if prune.is_alive(entry) else "dead (prune it)"
        except errors.HarnessError as error:
            state = f"unknown ({error})"
    return {
        "name": entry.name,
        "provider": entry.provider,
        "state": state,
        "created": clocks.wall_text(entry.created_wall_ns),
        "kubeconfig": str(entry.kubeconfig),
    }


@cluster.command()
def down(name: str = NAME) -> None:
    """Stop a cluster and remove everything that belongs to it."""
    from harness.cluster import cluster_records
    from harness.cluster.lifecycle import prune

    entry = cluster_records.find(name)
    if entry.is_held:
        raise errors.UsageError(
            f"expected a cluster that stays, but {name!r} belongs to process {entry.owner.pid}: stop that process"
        )
    prune.remove(entry)
    print(f"Cluster {name!r} is gone.")


@cluster.command()
def prune() -> None:
    """Remove the remains of dead clusters and killed runs."""
    from harness.cluster.lifecycle import prune

    removed, failed = prune.prune()
    for item in removed:
        print(f"Removed {item}")
    if failed:
        raise errors.ClusterError("could not remove everything:\n  " + "\n  ".join(failed))
    if not removed:
        print("Nothing to remove.")


@cluster.command()
def kubeconfig(name: str = NAME) -> None:
    """Print the path of a cluster's kubeconfig."""
    from harness.cluster import cluster_records

    print(cluster_records.find(name).kubeconfig)


@cluster.command()
def logs(
    name: str = NAME,
    folder: pathlib.Path | None = options.argument(
        "Folder to write to (default: NAME-logs in the current folder).", default=None
    ),
) -> None:
    """Copy the logs of a cluster into one folder and print their paths."""
    from harness.cluster import cluster_records
    from harness.cluster.lifecycle import held_clusters

    folder = folder or pathlib.Path(f"{name}-logs")
    paths = held_clusters.collect_logs(cluster_records.find(name), folder)
    print(f"Logs of cluster {name!r}, written to {folder.resolve()}:")
    for path in paths:
        print(f"  {path}")
