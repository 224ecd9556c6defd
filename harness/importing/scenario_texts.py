"""The scenario file of an import, which explains itself by its comments."""

import json
from collections.abc import Sequence

from harness.importing import materials, workload_sets

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
