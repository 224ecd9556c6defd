"""The input of a check: the plan of the run and everything folded from its records."""

import dataclasses
from collections.abc import Mapping, Sequence

from harness.checks import observed_runs
from harness.checks.faults import fault_records
from harness.checks.nodes import preparations
from harness.checks.schedulers import scheduler_identities, written_books
from harness.checks.taints import attempt_views
from harness.history import plans, records


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CheckInput:
    """The evidence of one run, ready to be judged."""

    plan: plans.Plan
    observed: observed_runs.ObservedRun
    """The observations, folded."""
    faults: fault_records.FaultRecords = dataclasses.field(
        default_factory=fault_records.FaultRecords
    )
    prepared: Sequence[preparations.Preparation] = ()
    """When claims were prepared on nodes, as the journals say."""
    started: Sequence[records.ContainerStarted] = ()
    """Containers that use claims, as the journals say."""
    schedulers: scheduler_identities.SchedulersOfHolds = dataclasses.field(
        default_factory=scheduler_identities.SchedulersOfHolds
    )
    """The schedulers of the allocations; known only in runs with several schedulers."""
    views: Mapping[str, attempt_views.View] = dataclasses.field(default_factory=dict)
    """The versions that the scheduler knew when it chose devices, by the uid of the claim."""
    phases: Sequence[records.Phase] = ()
    """The phases of the run, in order."""
    collects_garbage: bool = True
    """True if the cluster is known to remove claims of pods that are gone."""
    books: Mapping[str, written_books.Books | None] = dataclasses.field(default_factory=dict)
    """The final books of each Python scheduler; None: it left none."""
