"""`flake-hunt cluster up|list|down|prune|kubeconfig`: clusters that stay."""

from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(help="The cluster's name.")]

cluster = typer.Typer(help="Clusters that stay until you take them down.", no_args_is_help=True)


def add_to(app: typer.Typer) -> None:
    """Add the command group."""
    app.add_typer(cluster, name="cluster", rich_help_panel="Clusters")


@cluster.command()
def up(
    name: Annotated[str, typer.Option(help="The cluster's name.")] = "flake-hunt",
    nodes: Annotated[int, typer.Option(min=1, max=5000, help="Fake nodes worker-0 …")] = 8,
    devices_per_node: Annotated[int, typer.Option(min=1, max=1280, help="In each pool.")] = 100,
    port: Annotated[int, typer.Option(help="For plain HTTP; 0 takes a free one.")] = 0,
    tls_port: Annotated[int, typer.Option(help="For kubectl; 0 takes a free one.")] = 0,
) -> None:
    """Start an embedded cluster with worker-N device pools and fake kubelets."""
    from harness.cluster import registry
    from harness.scenario import specs

    spec = specs.PoolsSpec(nodes=nodes, devices_per_node=devices_per_node)
    item = registry.up(name, spec, port=port, tls_port=tls_port)
    print(f"Cluster {name!r} is up: {nodes} nodes with {devices_per_node} devices each.\n")
    print(f"    export KUBECONFIG={item.kubeconfig}")
    print("    kubectl get nodes,resourceslices")
    print("    flake-hunt scheduler & flake-hunt claim-controller &\n")
    print(f"Take it down with: flake-hunt cluster down {name}")


@cluster.command("list")
def list_clusters() -> None:
    """Show the clusters that are there."""
    from harness import clocks
    from harness.cluster import registry

    items = registry.known()
    if not items:
        print("No clusters. Start one with: flake-hunt cluster up")
    for item in items:
        state = "up" if item.is_alive else "dead (prune it)"
        since = clocks.wall_text(item.entry.created_wall_ns)
        print(f"{item.entry.name}\t{item.entry.provider}\t{state}\t{since}\t{item.kubeconfig}")


@cluster.command()
def down(name: Name = "flake-hunt") -> None:
    """Stop a cluster and remove everything that it left."""
    from harness.cluster import registry

    registry.down(registry.find(name))
    print(f"Cluster {name!r} is gone.")


@cluster.command()
def prune() -> None:
    """Remove what is left of clusters that died."""
    from harness.cluster import registry

    removed = registry.prune()
    print(f"Removed: {', '.join(removed)}" if removed else "Nothing to remove.")


@cluster.command()
def kubeconfig(name: Name = "flake-hunt") -> None:
    """Print the path of a cluster's kubeconfig."""
    from harness.cluster import registry

    print(registry.find(name).kubeconfig)
