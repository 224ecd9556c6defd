"""A run directory with the plan that a recorder needs."""

import pathlib

from harness import clocks
from harness.history import directories, plans


def plan(*resources: str, namespace: str = "default") -> plans.Plan:
    """The plan of a run of which nothing but these resources is recorded."""
    return plans.Plan(
        run_id="run-1",
        scenario="none",
        seed=1,
        subject="python",
        defects=[],
        cluster="embedded",
        namespace=namespace,
        boot_id=clocks.boot_id(),
        created_wall_ns=0,
        until_found=False,
        requirements=plans.Requirements(allocations_min=1, pods_running_min=0),
        expected_operations=[],
        expected_steps=[],
        resources=list(resources),
        settings={},
        versions={},
    )


def create(path: pathlib.Path, made: plans.Plan) -> directories.RunDirectory:
    directory = directories.create(path)
    plans.write(directory.plan, made)
    return directory
