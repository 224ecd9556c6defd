"""Folds the observations into the lives of PodGroups: their claims, and when each was gone."""

import dataclasses
from collections.abc import Iterator, Mapping

from harness.checks import verdicts
from harness.checks.claims import pod_lives
from harness.checks.observed import folders, observations, observed_claims
from harness.history import records

PLURAL, API_GROUP = "podgroups", "scheduling.k8s.io"


def is_group(consumer: observed_claims.Consumer) -> bool:
    """Return whether a claim is reserved for a PodGroup by this entry."""
    return (consumer.resource, consumer.api_group) == (PLURAL, API_GROUP)


@dataclasses.dataclass(slots=True, kw_only=True)
class GroupLife:
    """A PodGroup, and when it was gone."""

    uid: str
    namespace: str
    name: str
    named: tuple[str, ...]
    """Names of the claims that its spec names."""
    templates: Mapping[str, str]
    """The entries of its spec that get a claim from a template -> the template's name."""
    gone_version: int | None = None

    @property
    def involved(self) -> verdicts.InvolvedObject:
        """The group as it is named in a violation."""
        return verdicts.InvolvedObject(
            kind="PodGroup", namespace=self.namespace, name=self.name, uid=self.uid
        )


class GroupLives(folders.Folder):
    """The PodGroups of a run, by uid."""

    def __init__(self) -> None:
        self.groups: dict[str, GroupLife] = {}
        self._has_gap = False

    @property
    def is_complete(self) -> bool:
        """Return whether every PodGroup that existed was observed."""
        return bool(self.groups) and not self._has_gap

    def see_gap(self, gap: records.Gap) -> None:
        """Note that groups may change unseen."""
        self._has_gap |= gap.resource == observations.POD_GROUPS

    def see_pod_group(self, seen: observations.SeenPodGroup) -> None:
        meta, entries = seen.object.metadata, seen.object.spec.resource_claims or ()
        life = self.groups.get(meta.uid)
        if life is None:
            life = self.groups[meta.uid] = GroupLife(
                uid=meta.uid,
                namespace=meta.namespace,
                name=meta.name,
                named=pod_lives.named(entries),
                templates=pod_lives.templates(entries),
            )
        if seen.is_gone:
            life.gone_version = seen.version

    def of(self, pod: pod_lives.PodLife) -> Iterator[GroupLife]:
        """Yield the groups that have had the name of the pod's group; usually one."""
        for life in self.groups.values() if pod.group else ():
            if (life.namespace, life.name) == (pod.namespace, pod.group):
                yield life
