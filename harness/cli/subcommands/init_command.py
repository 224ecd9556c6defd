"""`flake-hunt init|import`: files to begin with: examples, and scenarios of your own devices."""

import pathlib
from typing import Annotated

from harness import errors
from harness.cli import options


def init(
    folder: Annotated[
        pathlib.Path, options.argument("Folder for the examples; it is made if it is missing.")
    ] = pathlib.Path(),
    names: Annotated[
        list[str] | None, options.argument("Copy these files or folders only.", "NAME")
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
        options.of("Folder to write; it must be new.", "-o", "--into", metavar="FOLDER"),
    ],
    files: Annotated[
        list[pathlib.Path] | None,
        options.argument(
            "Files of objects in YAML or JSON, as `kubectl get … -o yaml` prints them, instead of a cluster.",
            "FILES",
        ),
    ] = None,
    kubeconfig: Annotated[
        pathlib.Path | None,
        options.of("Cluster to read (default: KUBECONFIG, then ~/.kube/config)."),
    ] = None,
    namespace: Annotated[
        str,
        options.of(
            "Import the claims and workloads of this namespace, too, and only its templates.",
            "--namespace",
            "-n",
        ),
    ] = "",
    redact: Annotated[
        bool,
        options.of(
            "Replace names, identifiers in attributes, and the values of opaque parameters.",
            "--redact",
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
