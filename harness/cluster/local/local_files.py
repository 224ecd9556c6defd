"""Where the files of a local control plane lie, and their end."""

import os
import pathlib
import shutil

from harness.cluster import interfaces
from harness.cluster.local import control_plane
from harness.scenario import profiles

MEMORY = pathlib.Path("/dev/shm")  # noqa: S108 - a tmpfs is what is wanted; the folder in it is for nobody else's eyes
MEMORY_FREE_MIN_BYTES = 512 << 20
"""A container's /dev/shm has 64 MiB as a rule, which etcd's first log file alone would fill."""
_SECRETS, _DATA = "secrets", "etcd-data"


def of(profile: profiles.LocalProfile, request: interfaces.ClusterRequest) -> control_plane.Files:
    """Where the files of the cluster that is asked for lie."""
    folder = request.directory.resolve()
    memory, disk = data_folders(request)
    in_memory = profile.storage == "memory" and _has_room(MEMORY)
    return control_plane.Files(
        logs=folder, secrets=folder / _SECRETS, data=memory if in_memory else disk
    )


def data_folders(request: interfaces.ClusterRequest) -> tuple[pathlib.Path, pathlib.Path]:
    """Where etcd's data may be, in memory and on disk; known from the request alone, as whoever chose may have died."""
    in_memory = MEMORY / f"flake-hunt-{os.getuid()}-{request.name}"
    return in_memory, request.directory.resolve() / _DATA


def remove(kubeconfig: pathlib.Path, *folders: pathlib.Path) -> None:
    """Remove what is there of these."""
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
