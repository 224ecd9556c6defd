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
import itertools
import math
from collections.abc import Collection, Iterator, Sequence

from harness.checks import fault_records, findings, plan_facts, protocol, verdicts
from harness.checks.observed import claim_versions, field_managers, pod_lives
from harness.history import plans
from harness.model.fault_effects import Effect

CONTROLLER = "claim-controller"
"""Process of our claim controller."""
_RETURNS_MAX = 1
"""Records of one entry that may come back after another one: a controller whose view is old."""
_KNOWN_MIN = 2
"""Pods that get something after the controller has known of their end, until chance is no cause."""


def applies(plan: plans.Plan) -> bool:
    return plan_facts.owes_claims(plan) or (
        plan.progress_s is not None and CONTROLLER in plan.expected_steps
    )


def is_undisturbed(plan: plans.Plan) -> bool:
    """Return whether the workers of a controller wait for nothing but each other and the API."""
    if plan_facts.is_scripted(plan):
        return not plan_facts.disturbs(plan, CONTROLLER)
    return not plan.faults and not plan.settings.get("token")


def judge(evidence: protocol.Evidence) -> verdicts.CheckResult:
    claims, pods = evidence[claim_versions.ClaimVersions], evidence[pod_lives.PodLives].pods
    search = _Search(claims, pods)
    hits = evidence[fault_records.FaultRecords].applications
    stripped = {item.uid for item in hits if plan_facts.effect(item) is Effect.DROPPED_FIELDS}
    spared = claims.robbed | stripped
    found = _without(search.found(), spared)
    known: list[findings.Finding] = []
    if is_undisturbed(evidence.plan):
        told = {item.objects[0].uid for item in found}
        known = _without(search.after_known_ends(), spared | told)
    unless = "" if pods else "no pod was observed, so nothing was examined"
    if len(known) >= _KNOWN_MIN:
        found += known
    elif known and not found:
        unless = f"{known[0].summary}; one such pod may be chance"
    generated = search.generated.values()
    return findings.judged(
        CHECK,
        found,
        examined=len(pods),
        good=f"generated claims: {sum(map(len, generated))}, for {len(generated)} entries of pods",
        unless=unless,
    )


CHECK = protocol.Check(
    name="claim_controller",
    guarantee="G",
    promise="the claims of a pod stay recorded, and an ended pod gets none",
    applies=applies,
    needs=(claim_versions.ClaimVersions, pod_lives.PodLives, fault_records.FaultRecords),
    judge=judge,
)


def _without(found: Iterator[findings.Finding], spared: Collection[str]) -> list[findings.Finding]:
    return [item for item in found if item.objects[0].uid not in spared]


class _Search:
    def __init__(
        self, claims: claim_versions.ClaimVersions, pods: dict[str, pod_lives.PodLife]
    ) -> None:
        self.pods, self.generated = pods, claims.generated()
        self._reserved = collections.defaultdict[tuple[str, str], list[int]](list)
        """Uids of a claim and a pod -> resourceVersions that reserved the claim for the pod."""
        self._released = collections.defaultdict[str, list[int]](list)
        """Uid of a pod -> resourceVersions that took a claim's reservation for it back."""
        spans = claims.spans(lambda now: now.users, across_gaps=True)
        for span in sorted(spans, key=lambda item: item.begin.rv):
            self._reserved[span.claim.uid, span.key].append(span.begin.rv)
            if span.end is not None and not span.end.is_gone:
                self._released[span.key].append(span.end.rv)

    def found(self) -> Iterator[findings.Finding]:
        for pod in self.pods.values():
            yield from _dropped(pod)
        for pod in self.pods.values():
            yield from _alternating(pod)
        yield from self._generated_after_the_end()
        yield from self._reserved_after_the_end()

    def _ended_rv(self, uid: str) -> float:
        """Return the version in which a pod had ended; infinite: in none that was observed."""
        pod = self.pods.get(uid)
        return math.inf if pod is None or pod.ended_rv is None else pod.ended_rv

    def _generated_after_the_end(self) -> Iterator[findings.Finding]:
        for (uid, entry), claims in self.generated.items():
            late = [item for item in claims if item.from_rv > self._ended_rv(uid)]
            if len(late) > 1:
                yield _finding(
                    self.pods[uid],
                    f"got claims for {entry} after its end{_made_by(late[0])}",
                    f"had ended at resourceVersion {self._ended_rv(uid)}, and got {len(late)} "
                    f"claims for entry {entry} afterwards",
                    [item.from_rv for item in late],
                    late,
                )

    def _reserved_after_the_end(self) -> Iterator[findings.Finding]:
        for (_, uid), versions in self._reserved.items():
            late = [rv for rv in versions if rv > self._ended_rv(uid)]
            if len(late) > 1:
                yield _finding(
                    self.pods[uid],
                    "got reservations after its end",
                    f"had ended at resourceVersion {self._ended_rv(uid)}, and a claim was reserved "
                    f"for it {len(late)} times afterwards",
                    late,
                )

    def after_known_ends(self) -> Iterator[findings.Finding]:
        """Yield what was made for pods of whose end the controller has shown that it knows."""
        made = collections.defaultdict[str, list[claim_versions.Generated]](list)
        for (uid, _), claims in self.generated.items():
            made[uid] += claims
        for uid, claims in made.items():
            known = self._known_rv(uid, claims)
            late = [item for item in claims if item.from_rv > known]
            if late:
                by, first = _made_by(late[0]), late[0]
                yield _finding(
                    self.pods[uid],
                    f"got a claim after its end{by}",
                    f"had ended at resourceVersion {self._ended_rv(uid)}, its reservation was taken "
                    f"back at {known}, and it got claim {first.claim.name}{by} at {first.from_rv}",
                    [item.from_rv for item in late],
                    late,
                )

    def _known_rv(self, uid: str, claims: Sequence[claim_versions.Generated]) -> float:
        """Return when a reservation of an ended pod was taken back; infinite: never.

        Also infinite if the pod got a claim between its binding and this version.
        """
        ends = [rv for rv in self._released[uid] if rv > self._ended_rv(uid)]
        bound = self.pods[uid].bound_rv if ends else None
        if bound is None or any(bound < item.from_rv < min(ends) for item in claims):
            return math.inf
        return min(ends)


def _dropped(pod: pod_lives.PodLife) -> Iterator[findings.Finding]:
    dropped = [
        (now, entry)
        for before, now in itertools.pairwise(pod.records)
        for entry in before.names
        if entry not in now.names
    ]
    if dropped:
        now, entry = dropped[0]
        yield _finding(
            pod,
            f"lost the record of {entry}{_by(now.writer)}",
            f"had a claim recorded for entry {entry}, which resourceVersion {now.rv} "
            f"dropped{_by(now.writer)}; records were dropped {len(dropped)} times",
            [item.rv for item, _ in dropped],
        )


def _alternating(pod: pod_lives.PodLife) -> Iterator[findings.Finding]:
    earlier: set[tuple[str, str | None]] = set()
    returned: list[tuple[pod_lives.Recorded, str]] = []
    for before, now in itertools.pairwise(pod.records):
        earlier |= before.names.items()
        returned += [
            (now, entry)
            for entry, name in now.names.items()
            if before.names.get(entry, name) != name and (entry, name) in earlier
        ]
    if len(returned) > _RETURNS_MAX:
        now, entry = returned[0]
        yield _finding(
            pod,
            f"has alternating records of {entry}{_by(now.writer)}",
            f"had a claim recorded for entry {entry} that another one had replaced, at "
            f"resourceVersion {now.rv}{_by(now.writer)}; {len(returned)} records came back",
            [item.rv for item, _ in returned],
        )


def _by(writer: str) -> str:
    return f" by {writer}" if writer else ""


def _made_by(made: claim_versions.Generated) -> str:
    return _by(field_managers.creator(made.claim.managed_fields))


def _finding(
    pod: pod_lives.PodLife,
    summary: str,
    told: str,
    versions: Sequence[int],
    claims: Sequence[claim_versions.Generated] = (),
) -> findings.Finding:
    beside = [item.claim.involved for item in claims[:2]]
    return findings.about(pod, summary, told, versions=(versions[0], versions[-1]), beside=beside)
