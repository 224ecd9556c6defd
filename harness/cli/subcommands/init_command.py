"""`flake-hunt init|import`: files to begin with: examples, and scenarios of your own devices."""

import pathlib
from typing import Annotated

import typer

from harness import errors


def init(
    folder: Annotated[
        pathlib.Path, typer.Argument(help="Folder for the examples; it is made if it is missing.")
    ] = pathlib.Path(),
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Copy these files or folders only."),
    ] = None,
) -> int:
    """Copy examples into a folder: schedulers, a scenario with faults, plug-ins, tests, a workflow.

    Nothing is overwritten. README.md says what each file shows and how to run it.
    """
    from harness.scenario import examples

    for path in examples.copy(folder, only=names or ()):
        print(path)
    return 0


def import_(
    output: Annotated[
        pathlib.Path,
        typer.Option("-o", "--into", metavar="FOLDER", help="Folder to write; it must be new."),
    ],
    files: Annotated[
        list[pathlib.Path] | None,
        typer.Argument(
            metavar="FILES",
            help="Files of objects in YAML or JSON, as `kubectl get … -o yaml` prints them, instead of a cluster.",
        ),
    ] = None,
    kubeconfig: Annotated[
        pathlib.Path | None,
        typer.Option(
            "--kubeconfig", help="Cluster to read (default: KUBECONFIG, then ~/.kube/config)."
        ),
    ] = None,
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace",
            "-n",
            help="Import the claims and workloads of this namespace, too, and only its templates.",
        ),
    ] = "",
    redact: Annotated[  # noqa: FBT002 - typer turns it into a flag
        bool,
        typer.Option(
            "--redact",
            help="Replace names, identifiers in attributes, and the values of opaque parameters.",
        ),
    ] = False,
) -> int:
    """Write a scenario of your own devices and workloads, which `flake-hunt run` takes at once.

    It has the ResourceSlices, DeviceClasses, nodes and ResourceClaimTemplates of a cluster, which
    is only read, or of files; with --namespace also workloads. Commands, variables, volumes and
    accounts of containers, and every Secret, stay behind; what else does is told.
    """
    from harness.client import kubeconfig_files
    from harness.importing import cluster_reading, folders, imports

    folders.require_free(output)
    if files and (kubeconfig or namespace):
        raise errors.UsageError(
            "expected either files or a cluster, got both: leave the files or --kubeconfig and --namespace out"
        )
    if files:
        found = imports.from_files(files)
    else:
        paths = [kubeconfig] if kubeconfig else kubeconfig_files.default_paths()
        found = cluster_reading.read(paths, namespace=namespace)
    imported = imports.write(found, output, redacted=redact)
    print(*imported.files, *imported.notes, sep="\n")
    print(f"flake-hunt run {imported.files[0]}")
    return 0
