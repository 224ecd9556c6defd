"""An item of the certificate, and what its answers are made from."""

import dataclasses

import msgspec

from harness.checks import observed_runs
from harness.checks.evidence import acknowledged_writes, api_call_totals, pool_changes, wholeness
from harness.checks.faults import fault_records
from harness.checks.nodes import preparations
from harness.checks.witness import audit_history, testimony
from harness.history import histories, plans

ItemResult = tuple[bool, str]
"""The answer to a question and its reason."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One question about the evidence and its answer."""

    name: str
    question: str
    ok: bool
    reason: str
    """The answer in words, with figures."""
    needed: bool = True
    """False if the verdict needs no yes: a violation ended the run before its planned end."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The evidence of one run, read once."""

    history: histories.History
    observed: observed_runs.ObservedRun
    operations: api_call_totals.Operations
    writes: acknowledged_writes.SubjectWrites
    """Acknowledged writes of the scheduler and the claim controller."""
    faults: fault_records.FaultRecords
    prepared: preparations.Reading
    changed: pool_changes.Reading
    told: testimony.Testimony | None = None
    """The audit log beside the observations; None: there is none to compare."""
    audited: audit_history.AuditHistory | None = None
    """The writes that the audit log tells."""

    @property
    def plan(self) -> plans.Plan:
        """The plan of the run."""
        return self.history.plan

    @property
    def whole(self) -> wholeness.Wholeness:
        """The contradictions in the observations."""
        return self.observed.whole
