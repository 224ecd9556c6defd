"""Paths of a local control plane's files, and their removal."""

import os
import pathlib
import shutil

from harness.cluster import interfaces
from harness.cluster.local import control_plane
from harness.scenario import profiles

MEMORY = pathlib.Path("/dev/shm")  # noqa: S108 - must be a tmpfs; the folder in it is private
MEMORY_FREE_MIN_BYTES = 512 << 20
"""Free space required in /dev/shm.

A container usually has 64 MiB, which etcd's first log file alone would fill.
"""
_SECRETS, _DATA = "secrets", "etcd-data"


def of(profile: profiles.LocalProfile, request: interfaces.ClusterRequest) -> control_plane.Files:
    """Return the paths of the requested cluster's files."""
    folder = request.directory.resolve()
    memory, disk = data_folders(request)
    in_memory = profile.storage == "memory" and _has_room(MEMORY)
    return control_plane.Files(
        logs=folder, secrets=folder / _SECRETS, data=memory if in_memory else disk
    )


def data_folders(request: interfaces.ClusterRequest) -> tuple[pathlib.Path, pathlib.Path]:
    """Return the possible folders of etcd's data, in memory and on disk.

    They follow from the request alone, because the process that chose one may have died.
    """
    in_memory = MEMORY / f"flake-hunt-{os.getuid()}-{request.name}"
    return in_memory, request.directory.resolve() / _DATA


def remove(kubeconfig: pathlib.Path, *folders: pathlib.Path) -> None:
    """Remove the kubeconfig and the folders, as far as they exist."""
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    kubeconfig.unlink(missing_ok=True)


def _has_room(folder: pathlib.Path) -> bool:
    try:
        return os.access(folder, os.W_OK) and (
            shutil.disk_usage(folder).free >= MEMORY_FREE_MIN_BYTES
        )
    except OSError:
        return False
