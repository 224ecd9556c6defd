"""The check of the claim controller: what it has recorded stays, and an ended pod gets nothing.

That each entry of a pod has one claim is in `generated_claims`, for every controller.

- A record in a pod's status does not vanish.
- A pod that has ended gets neither claims nor reservations again. Once is possible, by a controller
  that has not seen the end yet; from the second time on it is a controller that does not look.
"""

import dataclasses
from collections.abc import Iterator, Sequence

from harness.checks import check_results, verdicts
from harness.checks.claim_control import controller_history
from harness.history import plans

NAME = "claim_controller"
PROMISE = "the claims of a pod stay recorded, and an ended pod gets none"
CONTROLLER = "claim-controller"
"""Process of our claim controller."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    summary: str
    text: str
    """One sentence without its period."""
    versions: tuple[int, ...]
    involved: tuple[verdicts.InvolvedObject, ...]


def applies(plan: plans.Plan) -> bool:
    """Return whether our claim controller runs, and progress is judged."""
    return plan.progress_s is not None and CONTROLLER in plan.expected_steps


def check(history: controller_history.ControllerHistory) -> verdicts.CheckResult:
    """Return INVALID with all findings, VALID without any, UNKNOWN if no pod was observed."""
    found = [
        *_dropped(history),
        *_generated_after_the_end(history),
        *_reserved_after_the_end(history),
    ]
    return check_results.of_found(
        found,
        check=NAME,
        promise=PROMISE,
        verdict=_verdict(history, found),
        examined_count=len(history.pods),
        violation=_violation,
        summary=lambda item: item.summary,
        reason=_reason(history, found),
    )


def _verdict(
    history: controller_history.ControllerHistory, found: Sequence[_Finding]
) -> verdicts.Verdict:
    if found:
        return verdicts.Verdict.INVALID
    return verdicts.Verdict.VALID if history.pods else verdicts.Verdict.UNKNOWN


def _reason(history: controller_history.ControllerHistory, found: Sequence[_Finding]) -> str:
    if found:
        others = f", and {len(found) - 1} more" * (len(found) > 1)
        return f"{found[0].summary}{others}"
    if not history.pods:
        return "no pod was observed, so nothing was examined"
    claims = sum(map(len, history.generated.values()))
    return f"generated claims: {claims}, for {len(history.generated)} entries of pods"


# ----------------------------------------------------------------------------- findings


def _dropped(history: controller_history.ControllerHistory) -> Iterator[_Finding]:
    for pod in history.pods.values():
        if pod.dropped:
            version, entry = pod.dropped[0]
            yield _finding(
                history,
                pod.uid,
                f"lost the record of {entry}",
                f"had a claim recorded for entry {entry}, which resourceVersion {version} dropped; "
                f"records were dropped {len(pod.dropped)} times",
                tuple(item[0] for item in pod.dropped),
            )


def _generated_after_the_end(history: controller_history.ControllerHistory) -> Iterator[_Finding]:
    for (pod, entry), claims in history.generated.items():
        ended = _ended_version(history, pod)
        late = [item for item in claims if ended is not None and item.version > ended]
        if len(late) > 1:
            yield _finding(
                history,
                pod,
                f"got claims for {entry} after its end",
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
        guarantee=NAME,
        summary=item.summary,
        text=f"{item.text}.",
        resource_versions=sorted({item.versions[0], item.versions[-1]}),
        objects=list(item.involved),
    )
