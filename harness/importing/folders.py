"""The folder of an import: its files, which explain themselves, all of them or nothing."""

import contextlib
import json
import pathlib
import secrets
import shutil
from collections.abc import Iterator, Sequence

import yaml

from harness import errors, writing
from harness.importing import materials, workload_sets
from harness.model.objects import Object

YAML_OBJECTS_MAX = 300
"""Objects of a file in YAML; more are written as a List in JSON, fifty times as fast."""
_Dumper: type[yaml.SafeDumper] = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
Files = dict[str, bytes]


def require_free(folder: pathlib.Path) -> None:
    """Raise UsageError if there is something where the folder is to be."""
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.exists() or folder.is_symlink():
        what = "which has files" if folder.is_dir() else "which is a file"
        raise errors.UsageError(
            f"expected a new folder, got {folder}, {what}: name another one, or move it away"
        )


@contextlib.contextmanager
def drafted(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yield a folder beside the new one, which takes its place if the block succeeds.

    Otherwise nothing is left. Raises StorageError or UnwritableError if it cannot be written.
    """
    require_free(folder)
    target = folder.absolute()
    draft = target.with_name(f".{target.name}-{secrets.token_hex(4)}")
    missing = [one for one in target.parents if not one.exists()]
    try:
        with writing.explained(folder):
            draft.mkdir(parents=True)
        yield draft
        with writing.explained(folder):
            draft.replace(target)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        for parent in missing:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise


def write(draft: pathlib.Path, files: Files) -> None:
    """Write the files. Raises StorageError or UnwritableError if one cannot be written."""
    for name, content in files.items():
        with writing.explained(draft / name):
            (draft / name).write_bytes(content)


def manifests(stem: str, objects: Sequence[Object]) -> Files:
    """Return a file with the objects: documents in YAML, or a List in JSON."""
    if len(objects) <= YAML_OBJECTS_MAX:
        text = yaml.dump_all(
            objects, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100
        )
        return {f"{stem}.yaml": text.encode()}
    items = ",\n".join(json.dumps(obj, separators=(",", ":")) for obj in objects)
    return {f"{stem}.json": f'{{"apiVersion":"v1","kind":"List","items":[\n{items}\n]}}\n'.encode()}


# ------------------------------------------------------------------------ the scenario

USERS_MIN, USERS_MAX = 12, 48
_SCARCE_MAX = 160
"""Devices up to which so few users compete for them."""


def text(
    name: str,
    found: materials.Materials,
    sets: Sequence[workload_sets.WorkloadSet],
    pool_files: Sequence[str],
    object_files: Sequence[str],
) -> str:
    """Return the text, with enough users to compete for the devices, but not too many."""
    drivers = len({obj["spec"].get("driver") for obj in found.slices})
    devices = sum(len(obj["spec"].get("devices") or []) for obj in found.slices)
    in_all = devices * found.copies
    users = max(USERS_MIN, min(USERS_MAX, 2 * in_all // max(one.pods for one in sets)))
    is_scarce = in_all <= _SCARCE_MAX
    controls = (
        "\n# A defect that this scenario must catch: flake-hunt run scenario.toml --defect gather-not-atomic\n"
        'controls = ["gather-not-atomic"]\n'
        if is_scarce
        else ""
    )
    return f"""schema_version = 1
name = {json.dumps(name)}
title = "imported devices and workloads"
description = \"\"\"
Written by `flake-hunt import`: {_counted(devices, "device")} of {_counted(drivers, "driver")} in \\
{_counted(len(found.slices), "ResourceSlice")} on {_counted(len(found.nodes), "node")}, {_counted(len(found.classes), "DeviceClass")}, \\
{_counted(len(object_files), "workload")}.
\"\"\"
{controls}
# Nodes, devices and classes. `copies` nodes are made of each, with its pools; 1: what was found.
[pools]
from = {json.dumps(list(pool_files))}
copies = {found.copies}

# Users repeat: create what one of the files says, with names of their own, wait until its pods run, keep them for a
# moment, delete them. More users than devices make the devices scarce, which is when schedulers go wrong.
[traffic]
profile = "objects"
objects = {json.dumps(list(object_files))}
processes = 2
users = {users}
duration_s = 6.0
duration_max_s = 20.0
wait_s = 10.0
hold_s = 0.02

# The scheduler tries again soon, for many allocations in a short run, and pauses now and then, which shows
# races more often. For another scheduler: flake-hunt run scenario.toml --subject kube-scheduler=./kube-scheduler
[subject]
start = "before-traffic"
backoff_initial_s = 0.02
backoff_max_s = 0.1
pauses = {{ probability = 0.05, pause_s_max = 0.010 }}

# Less than this, and the verdict is UNKNOWN: raise it to what your runs reach.
[load]
allocations_min = 20
pods_running_min = 20
reuse_min = {10 * is_scarce}
"""


def _counted(count: int, noun: str) -> str:
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"
