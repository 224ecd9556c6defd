"""The check of progress: after the faults, every pod that can run runs.

Safety is judged apart, in `device_exclusivity`; claims that are kept for no pod are in
`resource_leaks`. The evidence is the state of pods, claims and
slices at the end of the run. Objects in it that could go on are stuck if nothing has moved for the
plan's `progress_s`: no pod was created, started to run or was removed, and no fault was healed.
Pods for which no device is left may wait, and so may those of which the API server removed a claim
in spite of its finalizer. A pod that our own kubelet, without defects, has left behind is not
the subject's violation: UNKNOWN. If the scheduler has crashed, its pods are stuck in the
same way: a run gives them their time after the crash. No other check reads a clock; this one reads
the recorder's monotonic clock, because its promise is about time.
"""

import itertools
from collections.abc import Sequence

from harness.checks import findings, plan_facts, protocol, verdicts
from harness.checks.holds import hold_history
from harness.checks.progress import stuck_objects, world_states
from harness.history import plans, records

HEALED = "faults healed"
"""Phase in which all faults of a run have been healed."""
STARTING, LOAD, STOPPING = "starting the scheduler", "load", "stopping"
"""Phases of every run."""
CRASHED = "scheduler crashed"
"""Phase of a run whose scheduler has ended by itself: no pod goes on from then on."""
UNFINISHED = ("ended early", "found")
"""Phases of a run that was given no time to make progress."""
DOUBTS_MAX = 20
"""Doubts that the reason for not judging names."""


class Unjudgeable(Exception):  # noqa: N818 - an answer, not an error
    """Progress cannot be judged; the message gives the reason."""


def applies(plan: plans.Plan) -> bool:
    return plan.progress_s is not None


def judge(evidence: protocol.Evidence) -> verdicts.CheckResult:
    """Return INVALID with every pod that is stuck, VALID without any.

    UNKNOWN if the end of the run is not known, or if an observer cannot decide of a pod whether
    there are devices for it and no other pod is stuck.
    """
    folded, final = evidence[hold_history.HoldHistory], evidence[world_states.WorldState]
    examined = len(folded.pods) + len(folded.claims)
    try:
        rest_s = still_s(evidence)
    except Unjudgeable as why:
        return findings.judged(CHECK, [], examined=examined, good="", unless=str(why))
    found = stuck_objects.find_pods(final, evidence.plan.settings)
    is_kubelet_ours = _is_kubelet_ours(evidence.plan)
    stuck = [item for item in found.stuck if not (item.is_of_kubelet and is_kubelet_ours)]
    told = told_stuck(stuck or found.stuck, rest_s, prefix="STUCK: ", still="no progress")
    unless = ""
    if not stuck and found.stuck:
        unless = f"{told}: that is our own kubelet's, not the subject's"
    elif stuck and rest_s < (evidence.plan.progress_s or 0.0):
        unless, stuck = told_early(stuck, rest_s, evidence.plan), []
    elif not stuck and found.doubts:
        doubts = "; ".join([*found.doubts][:DOUBTS_MAX])
        pods = verdicts.counted(len(found.doubts), "pod")
        unless = (
            f"{doubts}: {pods} not examined; {folded.pods_running} ran, and no other one is stuck"
        )
    elif not folded.pods:
        unless = "no pod was observed"
    reason = told if stuck else unless or _told_rest(folded.pods_running, found, final)
    still = "Nothing has made progress"
    made = [item.finding(rest_s, prefix="STUCK: ", still=still) for item in stuck]
    return findings.result(CHECK, made, examined=examined, reason=reason, is_kept=not unless)


def _is_kubelet_ours(plan: plans.Plan) -> bool:
    """Return whether the kubelet, its driver and their parts are ours, without defects."""
    driver = plan_facts.part(plan, "subject").get("driver") or ""
    return not plan.defects and not plan.plugins and driver in ("", "in-process", "socket")


def told_early(stuck: Sequence[stuck_objects.Stuck], rest_s: float, plan: plans.Plan) -> str:
    return (
        f"{len(stuck)} could go on ({stuck[0].summary}), but the run ended {rest_s:.1f} s after the "
        f"last progress, before the {plan.progress_s or 0.0:g} s that they have"
    )


def told_stuck(
    stuck: Sequence[stuck_objects.Stuck], rest_s: float, *, prefix: str = "", still: str
) -> str:
    told = stuck and findings.and_more(prefix + stuck[0].summary, len(stuck))
    return f"{told}; {still} for {rest_s:.1f} s" if told else ""


def _told_rest(running: int, found: stuck_objects.StuckPods, final: world_states.WorldState) -> str:
    reason = f"{running} pods ran; nothing is stuck"
    if found.waiting:
        reason += f", {found.waiting} wait as no device is left for them"
    if robbed := found.robbed + stuck_objects.find_claims(final).robbed:
        reason += (
            f", {robbed} not examined: the API server removed claims in spite of their finalizers"
        )
    return reason


# ------------------------------------------------------------------------------ time


def still_s(evidence: protocol.Evidence) -> float:
    """Return the seconds from the last progress to the end of the run.

    Raises Unjudgeable if the evidence does not show it.
    """
    for resource in world_states.TYPES:
        stream = evidence[hold_history.HoldHistory].stream(resource)
        if not stream.has_final_list or stream.live != stream.final:
            raise Unjudgeable(f"the final state of the {resource} is not known")
    begun_ns = _begun_ns(evidence)
    ended_ns = next((it.ts_ns for it in evidence.phases if it.name == STOPPING), None)
    if ended_ns is None:
        raise Unjudgeable("the run was not brought to its end")
    for phase in evidence.phases:
        if phase.name in UNFINISHED:
            raise Unjudgeable(f"the run had no time for progress ({phase.name}: {phase.detail})")
    return max(0, ended_ns - max(begun_ns, evidence[world_states.WorldState].moved_ns)) / 1e9


def _begun_ns(evidence: protocol.Evidence) -> int:
    """Return the time from which progress is owed: faults are healed; without faults, the load has
    ended and the scheduler has started.

    Raises Unjudgeable if neither happened.
    """
    if evidence.plan.faults:
        healed = [phase.ts_ns for phase in evidence.phases if phase.name == HEALED]
        if not healed:
            raise Unjudgeable("the faults were not healed")
        return healed[-1]
    load_ended_ns = _end(evidence.phases, LOAD)
    if load_ended_ns is None:
        raise Unjudgeable("the load did not end")
    return max(load_ended_ns, _end(evidence.phases, STARTING) or 0)


def _end(phases: Sequence[records.Phase], name: str) -> int | None:
    """Return the time at which the phase after this one began; None: there was none."""
    return next(
        (after.ts_ns for phase, after in itertools.pairwise(phases) if phase.name == name), None
    )


CHECK = protocol.Check(
    name="claim_progress",
    guarantee="P",
    promise="every pod that can run runs",
    applies=applies,
    needs=(world_states.WorldState, hold_history.HoldHistory),
    judge=judge,
    at_rest=True,
)
