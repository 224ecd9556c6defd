"""The task of one worker process of the traffic: plan, journal, its place among the others.

A local worker finds it in the run directory; a remote one gets it from the master.
"""

import dataclasses
import os
import pathlib
from collections.abc import Callable

from harness import errors
from harness.client import journaling
from harness.history import directories, journal_writer, plans
from harness.model import naming
from harness.traffic import launching


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The task of a worker process."""

    plan: plans.Plan
    index: int
    """Its number among the workers of the run, from 0."""
    journal: journaling.Journal
    kubeconfig: pathlib.Path
    is_enough: Callable[[], bool]
    """Returns whether users begin nothing new after the scenario's minimum duration."""


def of_environment() -> Assignment:
    """Return the next free place in the run directory that the environment names."""
    directory = directories.existing(pathlib.Path(os.environ[launching.DIRECTORY_VARIABLE]))
    plan = plans.read(directory.plan)
    index, journal = _claim_journal(directory, plan)
    return Assignment(
        plan=plan,
        index=index,
        journal=journal,
        kubeconfig=pathlib.Path(os.environ[launching.KUBECONFIG_VARIABLE]),
        is_enough=launching.enough_file(directory).exists,
    )


def _claim_journal(
    directory: directories.RunDirectory, plan: plans.Plan
) -> tuple[int, journaling.Journal]:
    """Open the first journal that no other worker has opened; return its index and the journal.

    Locust's own worker index is not known before the load begins.
    """
    for index in range(plan.settings["traffic"]["processes"]):
        name = naming.traffic(index)
        try:
            writer = journal_writer.Writer(
                directory.operations(name), process=name, run_id=plan.run_id
            )
        except FileExistsError:
            continue
        return index, journaling.Journal(writer)
    raise errors.ProcessError("expected no more workers than the plan has journals for")
