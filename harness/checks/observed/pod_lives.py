"""The lives of pods and PodGroups: what they ask for, and when each was bound, ended and gone."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from harness.checks import verdicts
from harness.checks.observed import field_managers, folders, observations, observed_pods
from harness.history import records

EVICTED = "DeletionByDeviceTaintManager"
"""Reason of the condition of a pod that was evicted because of a taint."""
_EVICTION = "DisruptionTarget"
Names = Mapping[str, str | None]
"""Entry of a pod -> its claim, as the status names it; None: the entry needs none."""


class Recorded(NamedTuple):
    """The claims that a pod's status names, from a version on."""

    rv: int
    names: Names
    writer: str
    """Field manager of these records; empty: not known, or they are the first ones."""


class Eviction(NamedTuple):
    """The version in which a pod was first evicted by a taint."""

    rv: int
    ts_ns: int
    by: str
    """The field manager that has said so; empty: not known."""


class UserLife(verdicts.Named, msgspec.Struct, kw_only=True):
    """A pod or PodGroup, and the entries of its spec."""

    kind: str
    uid: str
    namespace: str
    name: str
    entries: Sequence[observed_pods.ClaimEntry]

    @property
    def named(self) -> list[str]:
        return [item.resource_claim_name for item in self.entries if item.resource_claim_name]

    @property
    def templates(self) -> dict[str, str]:
        return {
            item.name: item.resource_claim_template_name
            for item in self.entries
            if item.resource_claim_template_name
        }


class PodLife(UserLife, kw_only=True):
    """A pod, and the versions and times of its milestones; None: it was not observed."""

    group: str
    """Name of its PodGroup; empty: it has none."""
    scheduler_name: str
    bound_by_user: bool
    """Its first version names its node: no scheduler has bound it."""
    bound_in_list: bool = False
    """It was bound when a list had it, and before that at some version that was not observed."""
    node: str = ""
    bound_rv: int | None = None
    ended_rv: int | None = None
    gone_rv: int | None = None
    last_rv: int = 0
    bound_ns: float = math.inf
    leaving_ns: float = math.inf
    """It was to be deleted, had ended or was gone."""
    eviction: Eviction | None = None
    records: list[Recorded] = []
    """Each change of the claims that its status names."""
    recorded_rv: int = 0
    """Its newest version whose status names claims."""
    extended: str = ""
    """The claim for extended resources that its status named until it was bound."""
    is_certain: bool = True
    """No gap and no disorder in what was observed of it."""

    def recorded_until(self, rv: int | None) -> list[Recorded]:
        """Return the changes up to a version; None: there are none."""
        return [item for item in self.records if rv is not None and item.rv <= rv]

    @property
    def recorded(self) -> Names:
        """The claims that its status named when it was bound."""
        listed = self.recorded_until(self.bound_rv)
        return listed[-1].names if listed else {}

    @property
    def claims_at_binding(self) -> list[str]:
        made = self.recorded
        names = (item.resource_claim_name or made.get(item.name) for item in self.entries)
        return [name for name in names if name]

    @property
    def latest(self) -> Names:
        """The claims that its status named last, if it has named any."""
        return next((item.names for item in reversed(self.records) if item.names), {})

    def runs_at(self, rv: int) -> bool:
        """Return whether it was bound before this version, and had neither ended nor gone by it."""
        if not self.is_certain or self.bound_rv is None or self.bound_rv >= rv:
            return False
        return all(end is None or end > rv for end in (self.ended_rv, self.gone_rv))


class PodLives(folders.Folder):
    """The pods and PodGroups of a run, by uid."""

    def __init__(self) -> None:
        self.pods: dict[str, PodLife] = {}
        self.groups: dict[str, UserLife] = {}
        self._has_list = False
        self._gaps: set[str] = set()

    @property
    def is_complete(self) -> bool:
        return self._has_list and observations.PODS not in self._gaps

    @property
    def has_all_groups(self) -> bool:
        return bool(self.groups) and observations.POD_GROUPS not in self._gaps

    def groups_of(self, pod: PodLife) -> Iterator[UserLife]:
        """Yield the groups that have had the name of the pod's group; usually one."""
        for life in self.groups.values() if pod.group else ():
            if (life.namespace, life.name) == (pod.namespace, pod.group):
                yield life

    # ------------------------------------------------------------------- observations

    def see_list(self, listed: records.Listed) -> None:
        self._has_list |= (listed.resource, listed.purpose) == (observations.PODS, "first")

    def see_gap(self, gap: records.Gap) -> None:
        self._gaps.add(gap.resource)
        if gap.resource == observations.PODS:
            for pod in self.pods.values():
                pod.is_certain = False

    def see_pod_group(self, seen: observations.SeenPodGroup) -> None:
        meta, entries = seen.object.metadata, seen.object.spec.resource_claims or ()
        life = UserLife(
            kind="PodGroup", uid=meta.uid, namespace=meta.namespace, name=meta.name, entries=entries
        )
        self.groups.setdefault(meta.uid, life)

    def see_pod(self, seen: observations.SeenPod) -> None:
        life = self.pods.get(seen.object.metadata.uid)
        if life is None:
            pod, meta = seen.object, seen.object.metadata
            life = self.pods[meta.uid] = PodLife(
                kind="Pod",
                uid=meta.uid,
                namespace=meta.namespace,
                name=meta.name,
                entries=pod.spec.resource_claims or (),
                group=pod.group,
                scheduler_name=pod.spec.scheduler_name,
                bound_by_user=bool(pod.spec.node_name),
                is_certain=observations.PODS not in self._gaps,
            )
        elif seen.version <= life.last_rv or life.gone_rv is not None:
            life.is_certain = False
        life.last_rv = seen.version
        if seen.is_gone:
            life.gone_rv = seen.version
        else:
            _note_records(life, seen)
            _note_milestones(life, seen)
        _note_times(life, seen)


def _note_records(life: PodLife, seen: observations.SeenPod) -> None:
    listed = seen.object.status.resource_claim_statuses or ()
    now = {item.name: item.resource_claim_name for item in listed}
    before = life.records[-1].names if life.records else {}
    if now:
        life.recorded_rv = seen.version
    if now != before:
        managed = seen.object.metadata.managed_fields
        writer = field_managers.owner(managed, "status", "resourceClaimStatuses") if before else ""
        life.records.append(Recorded(seen.version, now, writer))


def _note_milestones(life: PodLife, seen: observations.SeenPod) -> None:
    extended = seen.object.status.extended_resource_claim_status
    if extended is not None and life.bound_rv is None:
        life.extended = extended.resource_claim_name
    if seen.object.spec.node_name and life.bound_rv is None:
        life.bound_rv, life.node = seen.version, seen.object.spec.node_name
        life.bound_in_list = seen.type == "LISTED"
    if seen.object.has_ended and life.ended_rv is None:
        life.ended_rv = seen.version


def _note_times(life: PodLife, seen: observations.SeenPod) -> None:
    pod, conditions = seen.object, seen.object.status.conditions or ()
    if pod.spec.node_name:
        life.bound_ns = min(life.bound_ns, seen.ts_ns)
    if pod.metadata.deletion_timestamp or pod.has_ended or seen.is_gone:
        life.leaving_ns = min(life.leaving_ns, seen.ts_ns)
    if life.eviction is None and any(
        item.reason == EVICTED and item.status == "True" for item in conditions
    ):
        by = field_managers.of_condition(pod.metadata.managed_fields, _EVICTION)
        life.eviction = Eviction(seen.version, seen.ts_ns, by)
