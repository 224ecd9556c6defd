"""The check of tainted devices.

A run owes this if its pools are tainted, one Python scheduler allocates, and no fault disturbs what
it sees.
"""

from collections.abc import Mapping, Sequence

from harness.checks import check_results, verdicts
from harness.checks.holds import hold_history
from harness.checks.taints import attempt_views, taint_timelines
from harness.history import plans

NAME = "tainted_devices"
PROMISE = "no device is allocated that the scheduler must have known as tainted"


def applies(plan: plans.Plan) -> bool:
    """Return whether runs with this plan owe the guarantee."""
    changes = (plan.settings.get("pools") or {}).get("changes") or ()
    taints = any(change.get("kind") == "taint" for change in changes)
    return taints and attempt_views.are_told(plan)


def check(
    folded: hold_history.HoldHistory,
    timelines: taint_timelines.TaintTimelines,
    views: Mapping[str, attempt_views.View],
) -> verdicts.CheckResult:
    """Return INVALID with the tainted devices, UNKNOWN if nothing could be examined.

    Allocations count as examined if it is known which version of the slices the scheduler had dealt
    with, and the claim tolerates nothing.
    """
    examined = [
        hold
        for hold in folded.holds
        if hold.uid in views
        and views[hold.uid].slices != attempt_views.UNKNOWN
        and not timelines.tolerates(hold.uid)
    ]
    gaps = [*folded.stream("resourceslices").gaps, *folded.stream("devicetaintrules").gaps]
    found = [hold for hold in examined if not _could_be_clear(hold, timelines, views[hold.uid])]
    found = [] if gaps else found
    return check_results.of_found(
        found,
        check=NAME,
        promise=PROMISE,
        verdict=_verdict(found, examined if not gaps else ()),
        examined_count=len(examined),
        violation=lambda hold: _violation(hold, views[hold.uid]),
        summary=_summary,
        reason=_reason(found, examined, is_complete=not gaps),
    )


def _could_be_clear(
    hold: hold_history.Hold, timelines: taint_timelines.TaintTimelines, view: attempt_views.View
) -> bool:
    return timelines.could_be_clear(
        hold.device, slices=view.slices, rules=view.rules, until=hold.from_rv
    )


def _verdict(
    found: Sequence[hold_history.Hold], examined: Sequence[hold_history.Hold]
) -> verdicts.Verdict:
    if found:
        return verdicts.Verdict.INVALID
    return verdicts.Verdict.VALID if examined else verdicts.Verdict.UNKNOWN


def _reason(
    found: Sequence[hold_history.Hold],
    examined: Sequence[hold_history.Hold],
    *,
    is_complete: bool,
) -> str:
    if not is_complete:
        return "versions of slices or rules may be missing, so nothing was examined"
    if not examined:
        return "of no allocation is known what the scheduler had seen, so nothing was examined"
    told = f"{len(examined)} allocations examined"
    if found:
        more = f", and {len(found) - 1} more" * (len(found) > 1)
        return f"{_summary(found[0])}{more}; {told}"
    return f"no tainted device was allocated; {told}"


def _summary(hold: hold_history.Hold) -> str:
    return f"claim {hold.name} was allocated {hold.device}, which was tainted"


def _violation(hold: hold_history.Hold, view: attempt_views.View) -> verdicts.Violation:
    rules = f", those of the rules from {view.rules} on" if view.rules else ""
    return verdicts.Violation(
        guarantee=NAME,
        summary=_summary(hold),
        text=(
            f"Claim {hold.namespace}/{hold.name} (uid {hold.uid}) was allocated {hold.device} at "
            f"resourceVersion {hold.from_rv}. When the scheduler began the attempt, it had dealt with "
            f"the slices up to resourceVersion {view.slices}. In all versions of the slices from then "
            f"on{rules}, up to the allocation, the device was tainted or not there."
        ),
        resource_versions=sorted({view.slices, hold.from_rv}),
        objects=[verdicts.involved_claim(hold)],
    )
