"""Answers of the certificate about the other journals of a run, and about its load."""

import collections
from collections.abc import Iterator

from harness.checks import protocol, verdicts
from harness.checks.certificate import certificate_items
from harness.checks.claims import reservations
from harness.checks.evidence import acknowledged_writes, api_call_totals
from harness.checks.faults import fault_records
from harness.checks.holds import hold_history
from harness.checks.nodes import preparations as node_preparations
from harness.checks.observed import claim_versions
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds import fault


def files(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether no file is damaged; asked last, since the other answers read the files."""
    damages = evidence.history.damages()
    return not damages, "; ".join(damages) or f"{len(evidence.history.directory.journals())} files"


def unchanged(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether every file is as the manifest says."""
    found = evidence.history.compared
    bad = [f"{name} {change}" for name, change in found.changes.items()]
    if found.problem or bad:
        return False, found.problem or "; ".join(bad)
    if found.count is None:
        return True, "the run left no manifest: a change of its files would not be noticed"
    return True, f"{found.count} files, unchanged since the end of the run"


def operations(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether the journals of API calls are complete."""
    found = evidence[api_call_totals.Operations]
    if found.problems:
        return False, "; ".join(found.problems)
    return True, f"{found.calls} calls, {found.unknown} with unknown outcome"


def writes(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether the journals of the subject's writes are complete."""
    found = evidence[acknowledged_writes.SubjectWrites]
    if found.problems:
        return False, "; ".join(found.problems)
    return True, f"{len(found.versions)} acknowledged writes"


def preparations(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether the journals of preparations are complete."""
    reading = evidence[node_preparations.Reading]
    totals = reading.totals
    if reading.problems:
        return False, "; ".join(reading.problems)
    applied = evidence[fault_records.FaultRecords].applications
    reboots = [item for item in applied if fault_kinds.of(item.kind).effect is fault.Effect.REBOOT]
    if len(reading.rebooted) < len(reboots):
        told = verdicts.counted(len(reboots), "reboot")
        return False, f"{told} of nodes, of which kubelets have found {len(reading.rebooted)}"
    return True, f"{totals.prepared} claims prepared, {totals.unprepared} unprepared"


def steps(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether the files of the scheduler's steps are complete."""
    counts: list[str] = []
    for process in evidence.history.expected_steps():
        reader = evidence.history.steps(process)
        if reader is None:
            return False, f"{process} left no steps"
        collections.deque(reader, maxlen=0)
        ok, reason = reader.ended_in_order(f"steps of {process}")
        if not ok:
            return ok, reason
        counts.append(f"{process}: {reason}")
    return True, "; ".join(counts) or "no steps were requested"


def load(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether the load was as large as the scenario demands."""
    wanted, folded = evidence.plan.requirements, evidence[hold_history.HoldHistory]
    figures = {
        "allocations": (len(folded.holds), wanted.allocations_min),
        "pods seen Running": (folded.pods_running, wanted.pods_running_min),
    }
    if wanted.reservations_min:
        most = reservations.most(evidence[claim_versions.ClaimVersions])
        figures["reservations of one claim"] = most, wanted.reservations_min
    bad = [
        f"{got} {what}, expected at least {least}"
        for what, (got, least) in figures.items()
        if got < least
    ]
    good = [f"{got} {what} (at least {least})" for what, (got, least) in figures.items()]
    return not bad, "; ".join([*(bad or good), *_surge(evidence)])


def _surge(evidence: protocol.Evidence) -> Iterator[str]:
    """Yield why the load was larger than its users, if it was."""
    if count := evidence[api_call_totals.Operations].begun_beside:
        yield f"{count:,} claims or pods begun beside others that users waited for"
