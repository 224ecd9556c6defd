"""The check of claims that stay prepared: at rest, only claims of pods that still run are.

Kubelets unprepare the claims of a pod before its deletion is finished or its end is reported. So
the claims of pods that are gone must not be prepared when the run has come to rest. Not judged in
runs in which the driver is slow or fails, pods are deleted by force, or a node is lost: unpreparing
may come late there, or never.
"""

from collections.abc import Sequence
from typing import Any

from harness.checks import findings, planned_faults, protocol, verdicts, world_states
from harness.checks.nodes import preparations
from harness.checks.progress import claim_progress
from harness.history import plans, records


def applies(plan: plans.Plan) -> bool:
    """Return whether all claims of a run with this plan are unprepared in time."""
    traffic, driver = plan.settings.get("traffic") or {}, plan.settings.get("driver") or {}
    return bool(
        plan.progress_s is not None
        and plan.expected_preparations
        and not traffic.get("force_delete")
        and not any(planned_faults.of(fault.kind).loses_node for fault in plan.faults)
        and _is_prompt(driver)
    )


def _is_prompt(driver: dict[str, Any]) -> bool:
    call = driver.get("unprepare") or {}
    slow = call.get("delay_s") or call.get("failure_probability") or call.get("blocked_s")
    return not slow and not driver.get("termination_s")


CHECK = protocol.Check(
    name="leftover_preparations",
    guarantee="L",
    promise="at rest, no claim is prepared on a node for a pod that is gone",
    applies=applies,
    needs=(preparations.Reading, world_states.WorldState),
    judge=lambda evidence: check(
        [*evidence[preparations.Reading].prepared, *evidence[preparations.Reading].kept],
        evidence[world_states.WorldState],
        evidence.phases,
    ),
    at_rest=True,
)


def check(
    prepared: Sequence[preparations.Preparation],
    final: world_states.WorldState,
    phases: Sequence[records.Phase],
) -> verdicts.CheckResult:
    """Return INVALID with the claims that stay prepared, UNKNOWN if none was prepared at all.

    UNKNOWN also for a run that was not brought to its rest.
    """
    early = next((item for item in phases if item.name in claim_progress.UNFINISHED), None)
    left = [] if early else [item for item in prepared if not _may_be_prepared(item, final)]
    found = [_finding(item) for item in left]
    return findings.result(
        CHECK,
        found,
        examined=len(prepared),
        is_kept=bool(prepared and not early),
        reason=findings.first(found) if found else _why_none(len(prepared), early),
    )


def _may_be_prepared(item: preparations.Preparation, final: world_states.WorldState) -> bool:
    """Return whether a claim is unprepared, or a pod that has not ended uses it."""
    if item.until_ns is not None:
        return True
    claim = final.claims.get(item.uid)
    users = claim.status.reserved_for or () if claim else ()
    pods = (final.pods.get(user.uid) for user in users)
    return any(pod is not None and not pod.has_ended for pod in pods)


def _why_none(prepared: int, early: records.Phase | None) -> str:
    if early:
        return f"the run did not come to its rest ({early.name}: {early.detail})"
    if not prepared:
        return "no claim was prepared, so nothing was examined"
    return f"preparations: {prepared}; none is left without its pod"


def _finding(item: preparations.Preparation) -> findings.Finding:
    return findings.Finding(
        summary=f"claim {item.name} is still prepared on {item.node}",
        text=(
            f"Claim {item.namespace}/{item.name} (uid {item.uid}) is still prepared on node "
            f"{item.node}, although no pod that runs uses it"
        ),
        objects=[verdicts.involved_claim(item)],
    )
