"""The check of tainted devices.

Where one Python scheduler allocates and no fault disturbs what it sees, its steps show what it
knew. For any other scheduler, the record alone has to show it: an attempt begins after its claim
was created, and does not take long. The scheduler has seen what was published `LAG_S` before the
claim was created, or `ATTEMPT_S` before the allocation. In runs with faults it may lag by any time,
and is not examined.
"""

from collections.abc import Mapping, Sequence

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.observed import observations
from harness.checks.taints import attempt_views, taint_timelines
from harness.history import plans

LAG_S = 10.0
"""Seconds by which a scheduler without faults may lag behind the recorder."""
ATTEMPT_S = 60.0
"""Seconds from what a scheduler saw before an attempt to the commit of its allocation."""


def applies(plan: plans.Plan) -> bool:
    """Return whether a run with this plan observes taints."""
    return needs_views(plan) or (observations.SLICES in plan.resources and not plan.faults)


def needs_views(plan: plans.Plan) -> bool:
    """Return whether the scheduler's steps add evidence: its pools are tainted, it is alone."""
    return bool(plan_facts.added_taints(plan)) and attempt_views.are_told(plan)


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    """Return INVALID with the tainted devices, UNKNOWN if nothing could be examined.

    Allocations count as examined if it is known which version of the slices the scheduler had dealt
    with, and the claim tolerates nothing. Without the steps the record alone shows it.
    """
    folded, timelines = evidence[hold_history.HoldHistory], evidence[taint_timelines.TaintTimelines]
    is_told = needs_views(evidence.plan)
    if not is_told and not timelines.has_taints:
        return CHECK.not_examined("no device was tainted")
    known: Mapping[str, attempt_views.View] = (
        evidence[attempt_views.AttemptViews] if is_told else _seen_views(folded.holds, timelines)
    )
    examined = [
        hold
        for hold in folded.holds
        if hold.uid in known
        and known[hold.uid].slices != attempt_views.UNKNOWN
        and hold.uid not in timelines.tolerant
    ]
    if not is_told and not examined:
        why = "all allocations were made before the scheduler must have seen the taints"
        return CHECK.not_examined(why)
    gaps = [*folded.stream("resourceslices").gaps, *folded.stream("devicetaintrules").gaps]
    found = [
        _finding(hold, known[hold.uid])
        for hold in (() if gaps else examined)
        if (is_told or timelines.was_tainted(hold.device))
        and not timelines.could_be_clear(hold.device, known[hold.uid], until=hold.from_rv)
    ]
    unless = (
        ""
        if examined
        else ("of no allocation is known what the scheduler had seen, so nothing was examined")
    )
    if gaps:
        unless = "versions of slices or rules may be missing, so nothing was examined"
    told = f"{findings.first(found) if found else 'no tainted device was allocated'}; "
    return findings.result(
        CHECK,
        found,
        is_kept=not unless,
        examined=len(examined),
        reason=unless or f"{told}{len(examined)} allocations examined",
    )


CHECK = protocol.Check(
    name="tainted_devices",
    guarantee="N",
    promise="no device is allocated that the scheduler must have known as tainted",
    applies=applies,
    needs=(
        hold_history.HoldHistory,
        taint_timelines.TaintTimelines,
        attempt_views.AttemptViews,
    ),
    judge=judge,
)


def _seen_views(
    holds: Sequence[hold_history.Hold], timelines: taint_timelines.TaintTimelines
) -> dict[str, attempt_views.View]:
    """Return what any scheduler must have seen; of a claim with several allocations, the oldest."""
    views: dict[str, attempt_views.View] = {}
    for hold in holds:
        claimed_ns = timelines.claimed_ns.get(hold.uid, 0)
        since_ns = max(claimed_ns - int(LAG_S * 1e9), hold.from_ts_ns - int(ATTEMPT_S * 1e9))
        view = timelines.view_at(since_ns)
        views[hold.uid] = view.older(views.get(hold.uid, view))
    return views


def _finding(hold: hold_history.Hold, view: attempt_views.View) -> findings.Finding:
    rules = f", those of the rules from {view.rules} on" if view.rules else ""
    return findings.Finding(
        summary=f"claim {hold.name} was allocated {hold.device}, which was tainted",
        text=f"Claim {hold.namespace}/{hold.name} (uid {hold.uid}) was allocated {hold.device} at "
        f"resourceVersion {hold.from_rv}. When the scheduler began the attempt, it had seen "
        f"the slices up to resourceVersion {view.slices}. In all versions of the slices from then "
        f"on{rules}, up to the allocation, the device was tainted or not there",
        versions=(view.slices, hold.from_rv),
        objects=[verdicts.involved_claim(hold)],
    )
