"""Answers of the certificate about the observations: complete, in order, without contradictions."""

from collections.abc import Callable

from harness.checks import protocol
from harness.checks.certificate import certificate_items
from harness.checks.evidence import (
    acknowledged_writes,
    api_call_totals,
    object_lives,
    recorded_lists,
    references,
    wholeness,
)
from harness.checks.holds import hold_history


def recorder(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether the recorder's journal was closed."""
    reader = evidence.recorder
    if reader is None:
        return False, "there are no observations"
    return reader.ended_in_order("observations")


def first_lists(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether there is a first list of every resource."""
    return _lists(evidence, lambda stream: stream.has_first_list, "first")


def gaps(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether the recorder noted no gap."""
    streams = evidence[hold_history.HoldHistory].streams
    found = [
        f"{name} after {gap.after_resource_version} ({gap.reason})"
        for name, stream in streams.items()
        for gap in stream.gaps
    ]
    observed = sum(stream.observed for stream in streams.values())
    return not found, "; ".join(found) or f"{observed} commits observed"


def order(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether the resourceVersions of each resource only increased."""
    folded = evidence[hold_history.HoldHistory]
    bad = {name: stream.disordered for name, stream in folded.streams.items() if stream.disordered}
    text = "; ".join(f"{name}: {len(found)}, first {found[0]}" for name, found in bad.items())
    return not bad, text or f"up to resourceVersion {folded.last_rv}"


def final_lists(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether the final lists show the objects and versions that the events add up to."""
    ok, reason = _lists(evidence, lambda stream: stream.has_final_list, "final")
    if not ok:
        return ok, reason
    streams = evidence[hold_history.HoldHistory].streams
    differing = {
        name: len(set(stream.live.items()) ^ set(stream.final.items()))
        for name, stream in streams.items()
    }
    bad = [f"{name}: {count} objects differ" for name, count in differing.items() if count]
    total = sum(len(stream.final) for stream in streams.values())
    return not bad, "; ".join(bad) or f"{total} objects in the final lists, all as expected"


def agreement(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether each record has the version and the kind of its object."""
    return _answer(
        evidence, object_lives.AGREES, f"{len(evidence[wholeness.Wholeness].observed)} records"
    )


def lives(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether every object was added once, and nothing followed its deletion."""
    return _answer(evidence, object_lives.LAWFUL, f"{evidence[wholeness.Wholeness].births} objects")


def lists(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether counts, versions and places of the lists fit."""
    return _answer(evidence, recorded_lists.FIT, f"{evidence[wholeness.Wholeness].lists} lists")


def final_objects(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether the final lists have the content that was observed last."""
    return _answer(evidence, object_lives.FINAL, f"{evidence[wholeness.Wholeness].finals} objects")


def named_objects(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether everything was observed that pods and claims name."""
    return _answer(
        evidence, references.NAMED, f"{evidence[wholeness.Wholeness].references.count} names"
    )


def acknowledged(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether every acknowledged creation and write was observed."""
    created, folded = (
        evidence[api_call_totals.Operations].created,
        evidence[hold_history.HoldHistory],
    )
    missing = created - folded.claims.keys() - folded.pods.keys()
    if missing:
        return False, f"{len(missing)} of {len(created)} never observed, e.g. {min(missing)}"
    writes = len(evidence[api_call_totals.Operations].written) + len(
        evidence[acknowledged_writes.SubjectWrites].versions
    )
    good = f"{len(created)} pods and claims created; {writes} writes"
    return _answer(evidence, acknowledged_writes.OBSERVED, good)


def dense_revisions(evidence: protocol.Evidence) -> certificate_items.ItemResult:
    """Return whether no revision is missing, in a cluster where each commit takes the next one."""
    begin, end = evidence[wholeness.Wholeness].between
    good = f"{end - begin} revisions, from {begin + 1} to {end}" if end > begin else "no revisions"
    return _answer(evidence, wholeness.DENSE, good)


def _answer(evidence: protocol.Evidence, name: str, good: str) -> certificate_items.ItemResult:
    bad = evidence[wholeness.Wholeness].found.answer(name)
    return not bad, bad or good


def _lists(
    evidence: protocol.Evidence,
    has: Callable[[hold_history.ObservedStream], bool],
    which: str,
) -> certificate_items.ItemResult:
    resources = evidence.plan.resources
    missing = [
        name for name in resources if not has(evidence[hold_history.HoldHistory].stream(name))
    ]
    if missing:
        return False, f"no {which} list of {', '.join(missing)}"
    return True, f"{len(resources)} resources"
