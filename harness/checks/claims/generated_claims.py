"""The check of generated claims: each entry of a pod has one claim, which the pod names for it.

The API says of `resourceClaimTemplateName`: "The template will be used to create a new
ResourceClaim, which will be bound to this pod … The pod name and resource name, along with a
generated component, will be used to form a unique name for the ResourceClaim, which will be
recorded in pod.status.resourceClaimStatuses." So at no time are there two claims for one entry of
one pod, unless the first one is being deleted; and a scheduler binds a pod only when its status
names the claims. To judge it, what the API shows is enough: owner references, the annotation
`resource.kubernetes.io/pod-claim-name`, and the status.

The claim is a copy of its template (ResourceClaimTemplateSpec): "The entire content is copied
unchanged into the ResourceClaim that gets created from this template", with "labels and annotations
that will be copied", and one annotation of the controller: of any version that there was before it,
because the controller sees templates late. A field that is empty or has its default is as good as
missing. On a cluster that exists without the harness, labels and annotations may be added by
admission webhooks, so only those that are missing are found there.

A create whose answer was lost is the known hazard H8: the claim is there, with a name that the
controller does not know. A controller that was started again, or whose lists lag, does not know it
either. Second claims are not examined in such runs if these faults may have hit the first ones; a
script is played to see them.
"""

import collections
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from harness.checks import fault_records, findings, plan_facts, protocol, verdicts
from harness.checks.observed import (
    claim_versions,
    folders,
    observations,
    observed_cluster,
    observed_metadata,
    pod_lives,
)
from harness.history import plans, records
from harness.model.fault_effects import Effect

Labels = dict[str, str]


class Content(NamedTuple):
    """The copied parts of a template, or of a claim when it was created."""

    spec: bytes
    """JSON, with defaults and without empty fields."""
    labels: Labels
    annotations: Labels
    """All but the controller's."""


class Made(NamedTuple):
    """The content of a claim when it was created for an entry of a pod."""

    uid: str
    rv: int
    content: Content


class _Created(msgspec.Struct):
    metadata: observed_cluster.TemplateMeta
    spec: msgspec.Raw = msgspec.Raw(b"null")


_decode = msgspec.json.Decoder(_Created).decode


class TemplateCopies(folders.Folder):
    """Folds the observations of templates, and of generated claims as they were created."""

    def __init__(self) -> None:
        self.made: list[Made] = []
        self.has_gap = False
        """Versions of templates may be missing."""
        self._templates = collections.defaultdict[tuple[str, str], list[tuple[int, Content]]](list)
        """Templates by namespace and name, each version with its resourceVersion."""
        self._plain: dict[bytes, bytes] = {}
        """The specs of claims so far, as in `Content`, by their JSON."""

    def see_template(self, seen: observations.SeenTemplate) -> None:
        if seen.is_gone:
            return
        meta, spec = seen.object.metadata, seen.object.spec
        labels, annotations = spec.metadata.labels or {}, spec.metadata.annotations or {}
        content = Content(_encoded(spec.spec), labels, annotations)
        self._templates[meta.namespace, meta.name].append((seen.version, content))

    def see_new_claim(self, seen: observations.SeenClaim) -> None:
        """Note a claim that was created for an entry of a pod.

        Raises ObjectError if it is none of the API.
        """
        if seen.type != "ADDED":
            return
        meta = seen.object.metadata
        if meta.owner is None or claim_versions.ENTRY not in (meta.annotations or {}):
            return
        try:
            content = self._content(_decode(seen.content))
        except observed_metadata.NO_OBJECTS as error:
            raise observed_metadata.ObjectError(str(error)) from error
        self.made.append(Made(meta.uid, seen.version, content))

    def _content(self, created: _Created) -> Content:
        annotations = dict(created.metadata.annotations or {})
        annotations.pop(claim_versions.ENTRY, None)
        raw = bytes(created.spec)
        if raw not in self._plain:
            self._plain[raw] = _encoded(msgspec.json.decode(raw))
        return Content(self._plain[raw], created.metadata.labels or {}, annotations)

    def see_gap(self, gap: records.Gap) -> None:
        self.has_gap |= gap.resource == observations.TEMPLATES

    def until(self, namespace: str, name: str, version: int) -> list[Content]:
        known = self._templates.get((namespace, name), ())
        return [content for since, content in known if since < version]


def _encoded(spec: Any) -> bytes:
    return msgspec.json.encode(_filled(spec, ""), order="sorted")


def _filled(value: Any, key: str) -> Any:
    """Return a part of a spec with the defaults of the API, and without what is empty.

    `key` is the name of the field that it is the value of, or is listed in. Parameters of drivers
    have no defaults.
    """
    if key == "parameters":
        return value
    if isinstance(value, list):
        return [_filled(item, key) for item in value]
    if not isinstance(value, dict):
        return value
    filled = {name: _filled(item, name) for name, item in value.items()}
    empty: tuple[Any, ...] = (None, "", [], {})
    kept = {name: item for name, item in filled.items() if item is not False and item not in empty}
    match key:
        case "exactly" | "firstAvailable":
            kept.setdefault("allocationMode", "ExactCount")
            if kept["allocationMode"] == "ExactCount":
                kept.setdefault("count", 1)
        case "tolerations":
            kept.setdefault("operator", "Equal")
    return kept


# ----------------------------------------------------------------------------- the check
_UNANSWERED = (Effect.LOST_ANSWER, Effect.LATE_WRITE)
"""Effects after which a controller does not know whether it has created a claim."""
_FORGETTING = (Effect.RESTART, Effect.API_SERVER, Effect.OLD_STATE)
"""Effects after which it does not know what was created before."""
_Claims = dict[tuple[str, str], list[claim_versions.Generated]]


def judge(evidence: protocol.Evidence) -> verdicts.Answer:
    claims, pods = evidence[claim_versions.ClaimVersions], evidence[pod_lives.PodLives]
    generated = claims.generated()
    found = [
        *_second(generated, pods, _excused(evidence)),
        *_unnamed(pods),
        *_mixed(generated, pods),
        *(_strange(generated, pods, claims.last_rv) if claims.is_complete else ()),
        *_unlike(evidence),
    ]
    return findings.answer(
        CHECK, examined=sum(map(len, generated.values())), what="generated claims", found=found
    )


CHECK = protocol.Check(
    name="generated_claims",
    guarantee="G",
    promise="each entry of a pod has one claim, made as its template says, which its status names",
    applies=plan_facts.owes_claims,
    needs=(
        claim_versions.ClaimVersions,
        pod_lives.PodLives,
        fault_records.FaultRecords,
        TemplateCopies,
    ),
    judge=judge,
)


def _excused(evidence: protocol.Evidence) -> Callable[[str], bool]:
    """Return whether a controller cannot know a claim, by its uid, because of a chance fault."""
    if plan_facts.is_scripted(evidence.plan):
        return lambda _: False
    hits = evidence[fault_records.FaultRecords].applications
    unknown = {item.uid for item in hits if plan_facts.effect(item) in _UNANSWERED}
    are_all = "" in unknown or plan_facts.plans_effect(evidence.plan, *_FORGETTING)
    return lambda uid: are_all or uid in unknown


def _second(
    generated: _Claims, pods: pod_lives.PodLives, is_excused: Callable[[str], bool]
) -> Iterator[findings.Finding]:
    for (uid, entry), claims in generated.items():
        for index, claim in enumerate(claims):
            known = [
                item
                for item in claims[:index]
                if _is_live(item, claim.from_rv) and not is_excused(item.claim.uid)
            ]
            if known and claim.is_new:
                pod, first = pods.pods.get(uid), known[0]
                yield findings.Finding(
                    summary=f"pod {pod.name if pod else uid} has a second claim for {entry}",
                    text=f"Pod {pod or uid} got claim {claim.claim} for entry {entry} at "
                    f"resourceVersion {claim.from_rv}, while it had claim {first.claim} from "
                    f"{first.from_rv}",
                    versions=(first.from_rv, claim.from_rv),
                    objects=[item.involved for item in (pod, first.claim, claim.claim) if item],
                )


def _is_live(item: claim_versions.Generated, rv: int) -> bool:
    ends = (item.deleting_rv, item.gone_rv)
    return item.from_rv < rv and all(end is None or end > rv for end in ends)


def _unnamed(pods: pod_lives.PodLives) -> Iterator[findings.Finding]:
    for pod in pods.pods.values():
        # A user may bind a pod without them.
        if pod.bound_rv is None or pod.bound_by_user or not pod.is_certain:
            continue
        missing = [entry for entry in pod.templates if entry not in pod.recorded]
        if missing:
            entries = ", ".join(missing)
            yield findings.about(
                pod,
                f"was bound without a claim for {entries}",
                f"was bound at resourceVersion {pod.bound_rv}, but its status named no claim for "
                f"{entries}",
                versions=(pod.bound_rv,),
                weight=len(missing),
            )


def _mixed(generated: _Claims, pods: pod_lives.PodLives) -> Iterator[findings.Finding]:
    for (uid, entry), claims in generated.items():
        latest = pods.pods[uid].latest if uid in pods.pods else {}
        for item in claims:
            others = {key for key, name in latest.items() if name == item.claim.name}
            for other in sorted(others - {entry}):
                pod = pods.pods[uid]
                yield findings.Finding(
                    summary=f"pod {pod.name} names the claim of {entry} for {other}",
                    text=f"The status of pod {pod} names claim {item.claim} for entry {other}, but "
                    f"it was created for entry {entry} at resourceVersion {item.from_rv}",
                    versions=(item.from_rv,),
                    objects=(pod.involved, item.claim.involved),
                )


def _strange(
    generated: _Claims, pods: pod_lives.PodLives, last_rv: int
) -> Iterator[findings.Finding]:
    """Find entries of statuses that name a claim which was not made for the pod.

    One that is also an entry of the pod's group has the claim that was made for the group.
    """
    for pod in pods.pods.values():
        own = {
            item.claim.name
            for entry, template in pod.templates.items()
            for uid in _owners(pod, entry, template, pods)
            for item in generated.get((uid, entry), ())
        }
        for entry, name in pod.latest.items():
            # The newest claims may have been created after the last one that was observed.
            if name and name not in own and pod.recorded_rv < last_rv:
                yield findings.Finding(
                    summary=f"pod {pod.name} names a claim for {entry} that is not its own",
                    text=f"The status of pod {pod} named claim {name} for entry {entry} at "
                    f"resourceVersion {pod.recorded_rv}, but it was not made for this pod",
                    versions=(pod.recorded_rv,),
                    objects=(pod.involved,),
                )


def _owners(
    pod: pod_lives.PodLife, entry: str, template: str, pods: pod_lives.PodLives
) -> list[str]:
    """Return the uids of those for which the claim of an entry is made: the pod, or its group."""
    shared = [one.uid for one in pods.groups_of(pod) if one.templates.get(entry) == template]
    return shared or [pod.uid]


def _unlike(evidence: protocol.Evidence) -> Iterator[findings.Finding]:
    copies = evidence[TemplateCopies]
    claims, pods = evidence[claim_versions.ClaimVersions], evidence[pod_lives.PodLives]
    for item in copies.made if not copies.has_gap else ():
        claim = claims.by_uid[item.uid][0].claim
        owner, entry = claim.owner or "", claim.entry or ""
        user = pods.pods.get(owner) or pods.groups.get(owner)
        if user is None:
            continue
        problem, template = f"is for entry {entry}, which the pod lacks", user.templates.get(entry)
        if template is not None:
            versions = copies.until(user.namespace, template, item.rv)
            told = [_difference(item.content, one, evidence.plan) for one in versions]
            problem = f"{told[-1]} template {template}" if told and all(told) else ""
        if problem:
            yield findings.Finding(
                summary=f"claim {claim.name} of pod {user.name} {problem}",
                text=f"Claim {claim} was created at resourceVersion {item.rv} for pod {user}; it "
                f"{problem}",
                versions=(item.rv,),
                objects=(user.involved, claim.involved),
            )


def _difference(made: Content, template: Content, plan: plans.Plan) -> str:
    """Return what a claim has otherwise than its template; empty: nothing."""
    may_have_more = plan.cluster == "kubeconfig"
    if made.spec != template.spec:
        return "has another spec than"
    for name in ("labels", "annotations"):
        got, expected = getattr(made, name), getattr(template, name)
        if not got.items() >= expected.items() or (got != expected and not may_have_more):
            return f"has other {name} than"
    return ""
