"""Folds the observations into the lives of pods: when each was bound, had ended, and was gone."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from harness.checks import verdicts
from harness.checks.observed import folders, observations, observed_pods
from harness.history import records


@dataclasses.dataclass(slots=True, kw_only=True)
class PodLife:
    """A pod, and the resourceVersions of its milestones; None: it was not observed."""

    uid: str
    namespace: str
    name: str
    named: tuple[str, ...]
    """Names of the claims that its spec names."""
    templates: Mapping[str, str]
    """The entries of its spec that get a claim from a template -> the template's name."""
    group: str
    """Name of its PodGroup; empty: it has none."""
    bound_by_user: bool
    """Its first version names its node: no scheduler has bound it."""
    bound_version: int | None = None
    latest: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    """Entry -> name of its generated claim, in the last version of the status with any."""
    latest_version: int = 0
    """resourceVersion of that version."""
    recorded: Mapping[str, str | None] = dataclasses.field(default_factory=dict)
    """Entry -> claim in its status, in the version in which it was bound."""
    ended_version: int | None = None
    gone_version: int | None = None
    last_version: int = 0
    is_certain: bool = True
    """No gap and no disorder in what was observed of it."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name} (uid {self.uid})"

    def runs_at(self, version: int) -> bool:
        """Return whether it was bound before this version, and had neither ended nor gone by it."""
        if not self.is_certain or self.bound_version is None or self.bound_version >= version:
            return False
        ends = (self.ended_version, self.gone_version)
        return all(end is None or end > version for end in ends)

    @property
    def involved(self) -> verdicts.InvolvedObject:
        """The pod as it is named in a violation."""
        return verdicts.InvolvedObject(
            kind="Pod", namespace=self.namespace, name=self.name, uid=self.uid
        )


class PodLives(folders.Folder):
    """The pods of a run, by uid."""

    def __init__(self) -> None:
        self.pods: dict[str, PodLife] = {}
        self._has_list = False
        self._has_gap = False

    @property
    def is_complete(self) -> bool:
        """Return whether every pod that existed was observed."""
        return self._has_list and not self._has_gap

    def named(self, namespace: str, name: str) -> Iterator[PodLife]:
        return (pod for pod in self.pods.values() if (pod.namespace, pod.name) == (namespace, name))

    def see_list(self, listed: records.Listed) -> None:
        """Note the first list of the pods."""
        if listed.resource == observations.PODS and listed.purpose == "first":
            self._has_list = True

    def see_gap(self, gap: records.Gap) -> None:
        """Note that the pods may change unseen."""
        if gap.resource == observations.PODS:
            self._has_gap = True
            for pod in self.pods.values():
                pod.is_certain = False

    def see_pod(self, seen: observations.SeenPod) -> None:
        pod, uid = seen.object, seen.object.metadata.uid
        life = self.pods.get(uid)
        if life is None:
            life = self.pods[uid] = _begun(pod)
            life.is_certain = not self._has_gap
        elif seen.version <= life.last_version or life.gone_version is not None:
            life.is_certain = False
        life.last_version = seen.version
        if seen.is_gone:
            life.gone_version = seen.version
            return
        if recorded := _recorded(pod):
            life.latest, life.latest_version = recorded, seen.version
        if pod.spec.node_name and life.bound_version is None:
            life.bound_version = seen.version
            life.recorded = _recorded(pod)
        if pod.has_ended and life.ended_version is None:
            life.ended_version = seen.version


def _begun(pod: observed_pods.Pod) -> PodLife:
    meta, entries = pod.metadata, pod.spec.resource_claims or ()
    return PodLife(
        uid=meta.uid,
        namespace=meta.namespace,
        name=meta.name,
        named=named(entries),
        templates=templates(entries),
        group=pod.group,
        bound_by_user=bool(pod.spec.node_name),
    )


def named(entries: Iterable[observed_pods.ClaimEntry]) -> tuple[str, ...]:
    """Return the names of the claims that entries of a spec name."""
    return tuple(item.resource_claim_name for item in entries if item.resource_claim_name)


def templates(entries: Iterable[observed_pods.ClaimEntry]) -> dict[str, str]:
    """Return entry -> template, for the entries of a spec that get a claim from one."""
    return {
        item.name: item.resource_claim_template_name
        for item in entries
        if item.resource_claim_template_name
    }


def _recorded(pod: observed_pods.Pod) -> dict[str, str | None]:
    return {
        item.name: item.resource_claim_name for item in pod.status.resource_claim_statuses or ()
    }
