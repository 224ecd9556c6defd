"""The DRA test driver, stand-alone: a plug-in of any kubelet."""

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli.subcommands.parts import cluster_parts

if TYPE_CHECKING:
    from collections.abc import Collection

    from harness.cluster.driver import driver_parts
    from harness.model.objects import Object

_NAME = "gpu.flake-hunt.example"


def driver(
    kubeconfig: cluster_parts.Kubeconfig,
    state: Annotated[
        str,
        typer.Option(
            metavar="DIR", help="Remember here what is prepared; it has to survive restarts."
        ),
    ],
    node: Annotated[
        list[str], typer.Option(help="Serve on this node (may be repeated: for fake nodes).")
    ],
    driver_name: Annotated[
        list[str] | None,
        typer.Option(help=f"Name of the driver (may be repeated; default: {_NAME})."),
    ] = None,
    plugins_dir: Annotated[
        str,
        typer.Option(metavar="DIR", help="Serve kubelets on DIR/DRIVER/dra.sock."),
    ] = "/var/lib/kubelet/plugins",
    registry_dir: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            show_default="plugins_registry of /var/lib/kubelet",
            help="Register on DIR/DRIVER-reg.sock: a kubelet watches this folder.",
        ),
    ] = "/var/lib/kubelet/plugins_registry",
    cdi_dir: Annotated[
        str,
        typer.Option(
            metavar="DIR",
            help="Write CDI files here. DIR, also of the other options, may contain {node}, and must with several nodes.",
        ),
    ] = "/var/run/cdi",
    devices: Annotated[
        int | None,
        typer.Option(min=1, help="Publish this number of devices of each node, as ResourceSlices."),
    ] = None,
    slices: Annotated[
        pathlib.Path | None,
        typer.Option(
            metavar="FILE",
            help="Publish the devices of the ResourceSlices in this file (YAML or JSON).",
        ),
    ] = None,
    settings: Annotated[
        pathlib.Path | None,
        typer.Option(
            metavar="FILE",
            help="JSON: exclusivity, prepare, unprepare (delays, failures, crash_at, block_at, …), services, unhealthy, device_status; read again when it changes.",
        ),
    ] = None,
    defect: cluster_parts.Defects = None,
    instance: Annotated[
        str,
        typer.Option(
            metavar="UID",
            help="uid of this pod, for a rolling update: it is part of the sockets' names, and two instances share --state.",
        ),
    ] = "",
    ready_file: cluster_parts.ReadyFile = None,
) -> int:
    """Run a DRA driver for tests, which serves kubelets on unix sockets and misbehaves on demand.

    It prepares claims as their allocation says, writes CDI files, refuses a device that another
    claim holds, and knows after a restart what it has prepared. SIGTERM ends it: it removes its
    sockets and its ResourceSlices.
    """
    from harness.cluster.driver import driver_process, drivers

    return driver_process.run(
        driver_process.DriverOptions(
            kubeconfig=kubeconfig,
            nodes=tuple(dict.fromkeys(node)),
            names=tuple(dict.fromkeys(driver_name or [_NAME])),
            plugins=plugins_dir,
            registry=registry_dir,
            files=drivers.DriverFiles(cdi=cdi_dir, state=state),
            devices=_devices(devices, slices),
            settings=settings,
            parts=_parts(defect or ()),
            instance=instance,
            ready_file=ready_file,
        )
    )


def _devices(count: int | None, path: pathlib.Path | None) -> "tuple[Object, ...]":
    from harness import errors
    from harness.cluster.driver import device_files

    if count is not None and path is not None:
        raise errors.UsageError("expected --devices or --slices, got both: leave one of them out")
    if path is not None:
        return device_files.read(path)
    return device_files.equal(count or 0)


def _parts(defects: "Collection[str]") -> "driver_parts.DriverParts":
    """Return the parts with these defects. Raises UsageError for one that is not of drivers."""
    from harness.cluster.driver import driver_parts

    if not defects:
        return driver_parts.CORRECT
    from harness.cluster.dra import kubelet_defects

    return kubelet_defects.driver_parts(defects)
