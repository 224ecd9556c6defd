"""The check of the claim controller: what it has recorded stays, and an ended pod gets nothing.

That each entry of a pod has one claim is in `generated_claims`, for every controller.

- A record in a pod's status does not vanish, and two records of an entry do not alternate.
- A pod that has ended gets neither claims nor reservations again. Once is possible, by a controller
  that has not seen the end yet; from the second time on it is a controller that does not look.
- Once is enough if the controller has shown before that it knows of the end: it took a claim's
  reservation for the pod back. A worker that has read the pod before its end, and then waited until
  that claim was gone, would do the same; so this counts only in a run without faults, or of a
  script that leaves the controller alone, from the second pod on, and not if the pod got a claim
  while it ran: a sync may have waited for that one.

A pod whose allocated claim the API server removed in spite of its finalizer is not examined, nor is
one whose status a client from before DRA wrote.

The field managers of what was written name its writer.
"""

import collections
import dataclasses
import itertools
from collections.abc import Iterator, Sequence

from harness.checks import check_results, protocol, scripted_plans, verdicts
from harness.checks.claim_control import controller_history
from harness.checks.faults import fault_records
from harness.checks.observed import field_managers
from harness.history import plans
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds import fault

CONTROLLER = "claim-controller"
"""Process of our claim controller."""
_RETURNS_MAX = 1
"""Records of one entry that may come back after another one: a controller whose view is old."""
_KNOWN_MIN = 2
"""Pods that get something after the controller has known of their end, until chance is no cause."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    summary: str
    text: str
    """One sentence without its period."""
    versions: tuple[int, ...]
    involved: tuple[verdicts.InvolvedObject, ...]


def applies(plan: plans.Plan) -> bool:
    """Return whether a claim controller works for the pods of the run, ours or another one."""
    return bool(plan.settings.get("traffic")) or (
        plan.progress_s is not None and CONTROLLER in plan.expected_steps
    )


def is_undisturbed(plan: plans.Plan) -> bool:
    """Return whether the workers of a controller wait for nothing but each other and the API."""
    if scripted_plans.is_scripted(plan):
        return not scripted_plans.disturbs(plan, CONTROLLER)
    return not plan.faults and not plan.settings.get("token")


CHECK = protocol.Check(
    name="claim_controller",
    guarantee="G",
    promise="the claims of a pod stay recorded, and an ended pod gets none",
    applies=applies,
    needs=(controller_history.ControllerHistory, fault_records.FaultRecords),
    judge=lambda evidence: check(
        evidence[controller_history.ControllerHistory],
        undisturbed=is_undisturbed(evidence.plan),
        stripped=_stripped(evidence[fault_records.FaultRecords]),
    ),
)


def _stripped(faults: fault_records.FaultRecords) -> frozenset[str]:
    """Return the UIDs of the pods whose status another client has written without its records."""
    dropped = fault.Effect.DROPPED_FIELDS
    hits = (item for item in faults.applications if fault_kinds.of(item.kind).effect is dropped)
    return frozenset(item.uid for item in hits)


def check(
    history: controller_history.ControllerHistory,
    *,
    undisturbed: bool = False,
    stripped: frozenset[str] = frozenset(),
) -> verdicts.CheckResult:
    """Return INVALID with all findings, VALID without any, UNKNOWN if no pod was observed.

    `undisturbed`: what a controller does after it has shown that it knows the end of a pod counts.
    `stripped`: UIDs of pods that are not examined.
    """
    every = itertools.chain(
        _dropped(history),
        _alternating(history),
        _generated_after_the_end(history),
        _reserved_after_the_end(history),
    )
    spared = history.robbed | stripped
    found = [item for item in every if item.involved[0].uid not in spared]
    told = spared.union(item.involved[0].uid for item in found)
    known = [item for item in _after_known_ends(history) if item.involved[0].uid not in told]
    doubtful = known if undisturbed and not found and len(known) < _KNOWN_MIN else []
    found += known if undisturbed and len(known) >= _KNOWN_MIN else []
    return check_results.of_found(
        CHECK,
        found,
        verdict=check_results.verdict(found, is_kept=bool(history.pods and not doubtful)),
        examined_count=len(history.pods),
        violation=_violation,
        summary=lambda item: item.summary,
        reason=_reason(history, found, doubtful),
    )


def _reason(
    history: controller_history.ControllerHistory,
    found: Sequence[_Finding],
    doubtful: Sequence[_Finding],
) -> str:
    if found:
        others = f", and {len(found) - 1} more" * (len(found) > 1)
        return f"{found[0].summary}{others}"
    if doubtful:
        return f"{doubtful[0].summary}; one such pod may be chance"
    if not history.pods:
        return "no pod was observed, so nothing was examined"
    claims = sum(map(len, history.generated.values()))
    return f"generated claims: {claims}, for {len(history.generated)} entries of pods"


# ----------------------------------------------------------------------------- findings


def _dropped(history: controller_history.ControllerHistory) -> Iterator[_Finding]:
    for pod in history.pods.values():
        if pod.dropped:
            first = pod.dropped[0]
            yield _finding(
                history,
                pod.uid,
                f"lost the record of {first.entry}{_by(first.writer)}",
                f"had a claim recorded for entry {first.entry}, which resourceVersion "
                f"{first.version} dropped{_by(first.writer)}; records were dropped "
                f"{len(pod.dropped)} times",
                tuple(item.version for item in pod.dropped),
            )


def _alternating(history: controller_history.ControllerHistory) -> Iterator[_Finding]:
    for pod in history.pods.values():
        if len(pod.returned) > _RETURNS_MAX:
            first = pod.returned[0]
            yield _finding(
                history,
                pod.uid,
                f"has alternating records of {first.entry}{_by(first.writer)}",
                f"had a claim recorded for entry {first.entry} that another one had replaced, at "
                f"resourceVersion {first.version}{_by(first.writer)}; {len(pod.returned)} records "
                "came back",
                tuple(item.version for item in pod.returned),
            )


def _by(writer: str) -> str:
    return f" by {writer}" if writer else ""


def _generated_after_the_end(history: controller_history.ControllerHistory) -> Iterator[_Finding]:
    for (pod, entry), claims in history.generated.items():
        ended = _ended_version(history, pod)
        late = [item for item in claims if ended is not None and item.version > ended]
        if len(late) > 1:
            yield _finding(
                history,
                pod,
                f"got claims for {entry} after its end{_made_by(late[0])}",
                f"had ended at resourceVersion {ended}, and got {len(late)} claims for entry "
                f"{entry} afterwards",
                tuple(item.version for item in late),
                late[:2],
            )


def _reserved_after_the_end(history: controller_history.ControllerHistory) -> Iterator[_Finding]:
    for (_, pod), versions in history.reserved.items():
        ended = _ended_version(history, pod)
        late = [version for version in versions if ended is not None and version > ended]
        if len(late) > 1:
            yield _finding(
                history,
                pod,
                "got reservations after its end",
                f"had ended at resourceVersion {ended}, and a claim was reserved for it "
                f"{len(late)} times afterwards",
                tuple(late),
            )


def _after_known_ends(history: controller_history.ControllerHistory) -> Iterator[_Finding]:
    made = collections.defaultdict[str, list[controller_history.Generated]](list)
    for (uid, _), claims in history.generated.items():
        made[uid] += claims
    for uid, claims in made.items():
        released = _known_version(history, uid, claims)
        late = [item for item in claims if released is not None and item.version > released]
        if late:
            yield _finding(
                history,
                uid,
                f"got a claim after its end{_made_by(late[0])}",
                f"had ended at resourceVersion {_ended_version(history, uid)}, its reservation was "
                f"taken back at {released}, and it got claim {late[0].name}{_made_by(late[0])} at "
                f"{late[0].version}",
                tuple(item.version for item in late),
                late[:2],
            )


def _known_version(
    history: controller_history.ControllerHistory,
    pod: str,
    claims: Sequence[controller_history.Generated],
) -> int | None:
    """Return the version in which a reservation of an ended pod was taken back; None: none was.

    Also None if the pod got a claim between its binding and this version.
    """
    known, ended = history.pods.get(pod), _ended_version(history, pod)
    if known is None or known.bound_version is None or ended is None:
        return None
    released = min((item for item in history.released[pod] if item > ended), default=None)
    if released is None or any(known.bound_version < item.version < released for item in claims):
        return None
    return released


def _made_by(claim: controller_history.Generated) -> str:
    return _by(field_managers.creator(claim.managed_fields))


def _ended_version(history: controller_history.ControllerHistory, pod: str) -> int | None:
    found = history.pods.get(pod)
    return found.ended_version if found else None


def _finding(
    history: controller_history.ControllerHistory,
    uid: str,
    summary: str,
    told: str,
    versions: tuple[int, ...],
    claims: Sequence[controller_history.Generated] = (),
) -> _Finding:
    pod = history.pods.get(uid)
    name, namespace = (pod.name, pod.namespace) if pod else (uid, "")
    about = verdicts.InvolvedObject(kind="Pod", namespace=namespace, name=name, uid=uid)
    others = (verdicts.involved_claim(item) for item in claims)
    return _Finding(
        summary=f"pod {name} {summary}",
        text=f"Pod {namespace}/{name} (uid {uid}) {told}",
        versions=versions,
        involved=(about, *others),
    )


def _violation(item: _Finding) -> verdicts.Violation:
    return verdicts.Violation(
        guarantee=CHECK.name,
        summary=item.summary,
        text=f"{item.text}.",
        resource_versions=sorted({item.versions[0], item.versions[-1]}),
        objects=list(item.involved),
    )
