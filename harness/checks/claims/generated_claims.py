"""The check of generated claims: each entry of a pod has one claim, which the pod names for it.

The API says of `resourceClaimTemplateName`: "The template will be used to create a new
ResourceClaim, which will be bound to this pod … The pod name and resource name, along with a
generated component, will be used to form a unique name for the ResourceClaim, which will be
recorded in pod.status.resourceClaimStatuses." So at no time are there two claims for one entry of
one pod, unless the first one is being deleted; and a scheduler binds a pod only when its status
names the claims. To judge it, what the API shows is enough: owner references, the annotation
`resource.kubernetes.io/pod-claim-name`, and the status.

The claim is a copy of its template (`template_copies`): of any version that there was before it,
because the controller sees templates late. On a cluster that exists without the harness, labels and
annotations may be added by admission webhooks, so only those that are missing are found there.

A create whose answer was lost is the known hazard H8: the claim is there, with a name that the
controller does not know. A controller that was started again, or whose lists lag, does not know it
either. Second claims are not examined in such runs if these faults may have hit the first ones; a
script is played to see them.
"""

from collections.abc import Iterator, Mapping, Sequence

from harness.checks import protocol, scripted_plans, verdicts
from harness.checks.claims import claim_lives, findings, group_lives, pod_lives, template_copies
from harness.checks.faults import fault_records
from harness.history import plans
from harness.scenario import fault_kinds
from harness.scenario.fault_kinds.fault import Effect

_UNANSWERED = (Effect.LOST_ANSWER, Effect.LATE_WRITE)
"""Effects after which a controller does not know whether it has created a claim."""
_FORGETTING = (Effect.RESTART, Effect.API_SERVER, Effect.OLD_STATE)
"""Effects after which it does not know what was created before."""


CHECK = protocol.Check(
    name="generated_claims",
    guarantee="G",
    promise="each entry of a pod has one claim, made as its template says, which its status names",
    applies=findings.owes,
    needs=(
        claim_lives.ClaimLives,
        pod_lives.PodLives,
        group_lives.GroupLives,
        fault_records.FaultRecords,
        template_copies.TemplateCopies,
    ),
    judge=lambda evidence: check(
        evidence[claim_lives.ClaimLives],
        evidence[pod_lives.PodLives],
        evidence.plan,
        evidence[fault_records.FaultRecords],
        evidence[template_copies.TemplateCopies],
        evidence[group_lives.GroupLives],
    ),
)


def check(
    lives: claim_lives.ClaimLives,
    pods: pod_lives.PodLives,
    plan: plans.Plan,
    faults: fault_records.FaultRecords,
    copies: template_copies.TemplateCopies,
    groups: group_lives.GroupLives | None = None,
) -> verdicts.Answer:
    """Return INVALID with all second, unnamed, mixed up and wrong claims, VALID without any."""
    groups = groups or group_lives.GroupLives()
    found = [
        *_second(lives, pods, _Excuses(plan, faults)),
        *_unnamed(pods),
        *_mixed(lives, pods),
        *_strange(lives, pods, groups),
        *_unlike(
            copies, {**pods.pods, **groups.groups}, may_have_more=plan.cluster == "kubeconfig"
        ),
    ]
    return findings.answer(
        CHECK,
        examined=sum(map(len, lives.generated.values())),
        what="generated claims",
        found=found,
    )


def _effect(kind: str) -> Effect:
    return fault_kinds.of(kind).effect


class _Excuses:
    """The claims that a controller cannot know, because of faults that come by chance."""

    def __init__(self, plan: plans.Plan, faults: fault_records.FaultRecords) -> None:
        if scripted_plans.is_scripted(plan):
            self._unknown, self._all = set[str](), False
            return
        unanswered = [item for item in faults.applications if _effect(item.kind) in _UNANSWERED]
        self._unknown = {item.uid for item in unanswered if item.uid}
        self._all = any(_effect(fault.kind) in _FORGETTING for fault in plan.faults) or any(
            not item.uid for item in unanswered
        )

    def hides(self, uid: str) -> bool:
        """Return whether the controller may not know of a claim that it has created."""
        return self._all or uid in self._unknown


def _second(
    lives: claim_lives.ClaimLives, pods: pod_lives.PodLives, excuses: _Excuses
) -> Iterator[findings.Finding]:
    for (uid, entry), claims in lives.generated.items():
        for index, claim in enumerate(claims):
            beside = [item for item in claims[:index] if _is_live(item, claim.from_version)]
            known = [item for item in beside if not excuses.hides(item.claim.uid)]
            if known and claim.is_new:
                yield _finding(pods, uid, entry, known[0], claim)


def _is_live(item: claim_lives.Generated, version: int) -> bool:
    """Return whether a claim existed at this version, and was not being deleted."""
    ends = (item.deleting_version, item.gone_version)
    return item.from_version < version and all(end is None or end > version for end in ends)


def _finding(
    pods: pod_lives.PodLives,
    uid: str,
    entry: str,
    first: claim_lives.Generated,
    second: claim_lives.Generated,
) -> findings.Finding:
    pod = pods.pods.get(uid)
    name = pod.name if pod else uid
    claims = [verdicts.involved_claim(item.claim) for item in (first, second)]
    return findings.Finding(
        summary=f"pod {name} has a second claim for {entry}",
        text=f"Pod {pod or uid} got claim {second.claim} for entry {entry} at resourceVersion "
        f"{second.from_version}, while it had claim {first.claim} from {first.from_version}",
        versions=(first.from_version, second.from_version),
        objects=[*([pod.involved] if pod else ()), *claims],
    )


def _unnamed(pods: pod_lives.PodLives) -> Iterator[findings.Finding]:
    """Find pods that a scheduler has bound before their status named all claims."""
    for pod in pods.pods.values():
        missing = _missing(pod)
        if missing and pod.bound_version is not None:
            entries = ", ".join(missing)
            yield findings.Finding(
                summary=f"pod {pod.name} was bound without a claim for {entries}",
                text=f"Pod {pod} was bound at resourceVersion {pod.bound_version}, but its status "
                f"named no claim for {entries}",
                versions=(pod.bound_version,),
                objects=(pod.involved,),
                weight=len(missing),
            )


def _missing(pod: pod_lives.PodLife) -> Sequence[str]:
    """Return the entries that the status does not have; a user may bind a pod without them."""
    if pod.bound_by_user or not pod.is_certain:
        return ()
    return [entry for entry in pod.templates if entry not in pod.recorded]


def _mixed(lives: claim_lives.ClaimLives, pods: pod_lives.PodLives) -> Iterator[findings.Finding]:
    for (uid, entry), claims in lives.generated.items():
        pod = pods.pods.get(uid)
        if pod is None:
            continue
        for item in claims:
            others = [key for key, name in pod.latest.items() if name == item.claim.name]
            for other in sorted({*others} - {entry}):
                yield findings.Finding(
                    summary=f"pod {pod.name} names the claim of {entry} for {other}",
                    text=f"The status of pod {pod} names claim {item.claim} for entry {other}, but "
                    f"it was created for entry {entry} at resourceVersion {item.from_version}",
                    versions=(item.from_version,),
                    objects=(pod.involved, verdicts.involved_claim(item.claim)),
                )


def _strange(
    lives: claim_lives.ClaimLives, pods: pod_lives.PodLives, groups: group_lives.GroupLives
) -> Iterator[findings.Finding]:
    """Find entries of statuses that name a claim which was not made for the pod.

    One that is also an entry of the pod's group has the claim that was made for the group.
    """
    for pod in pods.pods.values() if lives.is_complete else ():
        own = {
            item.claim.name
            for entry, template in pod.templates.items()
            for uid in _owners(pod, entry, template, groups)
            for item in lives.generated.get((uid, entry), ())
        }
        for entry, name in pod.latest.items():
            # The newest claims may have been created after the last one that was observed.
            if name and name not in own and pod.latest_version < lives.last_version:
                yield findings.Finding(
                    summary=f"pod {pod.name} names a claim for {entry} that is not its own",
                    text=f"The status of pod {pod} named claim {name} for entry {entry} at "
                    f"resourceVersion {pod.latest_version}, but it was not made for this pod",
                    versions=(pod.latest_version,),
                    objects=(pod.involved,),
                )


def _owners(
    pod: pod_lives.PodLife, entry: str, template: str, groups: group_lives.GroupLives
) -> list[str]:
    """Return the uids of those for which the claim of an entry is made: the pod, or its group."""
    shared = [one.uid for one in groups.of(pod) if one.templates.get(entry) == template]
    return shared or [pod.uid]


_Owner = pod_lives.PodLife | group_lives.GroupLife


def _unlike(
    copies: template_copies.TemplateCopies, owners: Mapping[str, _Owner], *, may_have_more: bool
) -> Iterator[findings.Finding]:
    """Find claims that differ from all versions of their templates before them."""
    for item in copies.made if not copies.has_gap else ():
        pod = owners.get(item.claim.owner or "")
        entry = item.claim.entry or ""
        if pod is None:
            continue
        template = pod.templates.get(entry)
        if template is None:
            yield _unlike_finding(pod, item, f"is for entry {entry}, which the pod lacks")
            continue
        versions = copies.until(pod.namespace, template, item.version)
        problems = [_difference(item.content, one, may_have_more=may_have_more) for one in versions]
        if problems and all(problems):
            yield _unlike_finding(pod, item, f"{problems[-1]} template {template}")


def _difference(
    made: template_copies.Content, template: template_copies.Content, *, may_have_more: bool
) -> str:
    """Return what a claim has otherwise than its template; empty: nothing."""
    if made.spec != template.spec:
        return "has another spec than"
    for name in ("labels", "annotations"):
        got, expected = getattr(made, name), getattr(template, name)
        if not got.items() >= expected.items() or (got != expected and not may_have_more):
            return f"has other {name} than"
    return ""


def _unlike_finding(pod: _Owner, item: template_copies.Made, problem: str) -> findings.Finding:
    return findings.Finding(
        summary=f"claim {item.claim.name} of pod {pod.name} {problem}",
        text=f"Claim {item.claim} was created at resourceVersion {item.version} for pod {pod}; it "
        f"{problem}",
        versions=(item.version,),
        objects=(pod.involved, verdicts.involved_claim(item.claim)),
    )
