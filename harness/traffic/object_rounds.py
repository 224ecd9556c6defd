"""The objects of one round of a user: those of a set of manifests, with names of their own.

A name is the round's, which no other round of the run has, and then the manifest's. References
follow: pods name the claims of their round, and the templates, which are created once a run.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from harness.client import apis
from harness.cluster.fake_nodes import fake_objects
from harness.model import naming
from harness.model.objects import Object
from harness.scenario import pool_specs, specs
from harness.scenario.object_sets import set_specs
from harness.traffic import objects


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The pods of one manifest, in the order in which they are created."""

    pods: Sequence[Object]
    at_once: int
    """Number of pods that exist at once before the first has ended."""
    completes: bool
    """The pods end by themselves."""

    @property
    def names(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.pods]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """The objects that one user creates, awaits and deletes together."""

    claims: Sequence[Object]
    pod_groups: Sequence[Object]
    groups: Sequence[Group]


class ObjectRounds:
    """Makes the objects that the users of one worker process create."""

    def __init__(self, scenario: specs.Scenario, *, run_id: str) -> None:
        self._run_id, self._node_prefix = run_id, scenario.pools.node_prefix
        self._sets = [_renamed(one, scenario.pools, run_id) for one in scenario.object_sets]
        names = [item.scheduler_name for item in scenario.subject.schedulers]
        self._schedulers = itertools.cycle(names)
        self._workloads = [[one for _, one in item.workloads] for item in self._sets]
        imported = scenario.pools.imported
        taken = imported.templates if imported else ()
        self._templates = dict(_template_names(self._sets, taken))

    def templates(self) -> Iterator[Object]:
        for index, one in enumerate(self._sets):
            for item in one.of_kind(set_specs.TEMPLATE):
                name = self._templates[index, item.name]
                made = self._made(item.manifest, name)
                spec = made["spec"]
                marked = {**spec, "metadata": self._marked(spec.get("metadata") or {})}
                yield {**made, "spec": marked}

    def turns(self, first: int) -> Iterator[int]:
        count = len(self._sets)
        return itertools.cycle((first + index) % count for index in range(count))

    def tried(self) -> Iterator[tuple[str, apis.Resource, Object]]:
        """Yield an object of each kind that users create, with its place in sentences."""
        templates = self.templates()
        for index, one in enumerate(self._sets):
            made = self.of(index, "tried", runs_s=iter(lambda: 1.0, None))
            pods = [group.pods[0] for group in made.groups]
            for resource, items, made_of in (
                (apis.CLAIMS, one.of_kind(set_specs.CLAIM), made.claims),
                (apis.POD_GROUPS, one.of_kind(set_specs.POD_GROUP), made.pod_groups),
                (apis.PODS, [item for item, _ in one.workloads], pods),
                (apis.CLAIM_TEMPLATES, one.of_kind(set_specs.TEMPLATE), templates),
            ):
                for item, obj in zip(items, made_of, strict=False):
                    yield one.where(item), resource, obj

    def of(self, index: int, prefix: str, *, runs_s: Iterator[float]) -> Round:
        """Return a round with the objects of a set; `prefix` is its name.

        `runs_s` yields the seconds for which each pod that ends by itself runs.
        """
        claims = [
            self._made(item.manifest, f"{prefix}-{item.name}")
            for item in self._sets[index].of_kind(set_specs.CLAIM)
        ]
        groups = [self._group(index, one, prefix, runs_s) for one in self._workloads[index]]
        pod_groups = [
            self._pod_group(index, item.manifest, f"{prefix}-{item.name}", prefix)
            for item in self._sets[index].of_kind(set_specs.POD_GROUP)
        ]
        return Round(claims=claims, pod_groups=pod_groups, groups=groups)

    # ------------------------------------------------------------------------ one object

    def _made(self, manifest: set_specs.Manifest, name: str) -> Object:
        metadata = {**self._marked(manifest["metadata"]), "name": name}
        return {**manifest, "metadata": metadata}

    def _pod_group(
        self, index: int, manifest: set_specs.Manifest, name: str, prefix: str
    ) -> Object:
        made = self._made(manifest, name)
        entries = made["spec"].get("resourceClaims") or ()
        claims = [self._entry(index, item, prefix) for item in entries]
        return {**made, "spec": {**made["spec"], "resourceClaims": claims}}

    def _marked(self, metadata: Object) -> Object:
        labels = {**(metadata.get("labels") or {}), objects.RUN_LABEL: self._run_id}
        return {**metadata, "labels": labels}

    def _group(
        self, index: int, one: set_specs.Workload, prefix: str, runs_s: Iterator[float]
    ) -> Group:
        pods = [
            self._pod(index, one, name, prefix, next(runs_s) if one.completes else None)
            for name in one.pod_names(prefix)
        ]
        if one.is_per_node:
            pods = [self._on_node(pod, number) for number, pod in enumerate(pods)]
        return Group(pods=pods, at_once=one.at_once, completes=one.completes)

    def _pod(
        self,
        index: int,
        one: set_specs.Workload,
        name: str,
        prefix: str,
        runs_s: float | None,
    ) -> Object:
        template = one.template
        spec = {**template["spec"], "schedulerName": next(self._schedulers)}
        if "resourceClaims" in spec:
            spec["resourceClaims"] = [
                self._entry(index, item, prefix) for item in spec["resourceClaims"]
            ]
        if "schedulingGroup" in spec:
            group = spec["schedulingGroup"]["podGroupName"]
            spec["schedulingGroup"] = {"podGroupName": f"{prefix}-{group}"}
        if runs_s is not None:
            program = {"command": [objects.SLEEP, f"{runs_s:.3f}"], "args": []}
            spec["containers"] = [{**item, **program} for item in spec["containers"]]
        return {
            "apiVersion": "v1",
            "kind": set_specs.POD,
            "metadata": {**self._marked(template.get("metadata") or {}), "name": name},
            "spec": objects.on_nodes_of_run(spec, self._run_id),
        }

    def _on_node(self, pod: Object, number: int) -> Object:
        """Return a pod of a DaemonSet for the n-th node, unless it says itself for which it is."""
        spec, key = pod["spec"], "requiredDuringSchedulingIgnoredDuringExecution"
        if spec.get("affinity") or spec["nodeSelector"].keys() - {objects.RUN_LABEL}:
            return pod
        name = naming.node(number, prefix=self._node_prefix)
        field = {"key": "metadata.name", "operator": "In", "values": [name]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        return {**pod, "spec": {**spec, "affinity": {"nodeAffinity": {key: terms}}}}

    def _entry(self, index: int, entry: Object, prefix: str) -> Object:
        if (claim := entry.get("resourceClaimName")) is not None:
            return {**entry, "resourceClaimName": f"{prefix}-{claim}"}
        template = entry["resourceClaimTemplateName"]
        name = self._templates.get((index, template)) or self._of_another(template)
        return {**entry, "resourceClaimTemplateName": name}

    def _of_another(self, template: str) -> str:
        known = (name for (_, own), name in self._templates.items() if own == template)
        return next(known, template)


def _template_names(
    sets: Sequence[set_specs.ObjectSet], taken: Sequence[str]
) -> Iterator[tuple[tuple[int, str], str]]:
    """Yield the set and the name of each template, and its name in the run.

    That is its own name, with the set's number if a file before has it, or `taken`.
    """
    seen = set(taken)
    for index, one in enumerate(sets):
        for name in one.names(set_specs.TEMPLATE):
            yield (index, name), f"{name}-file-{index + 1}" if name in seen else name
            seen.add(name)


# ----------------------------------------------------- names on a cluster with other users


def _renamed(
    one: set_specs.ObjectSet, pools: pool_specs.PoolsSpec, run_id: str
) -> set_specs.ObjectSet:
    objects = [
        item.model_copy(update={"manifest": _changed(item.manifest, pools, run_id)})
        for item in one.objects
    ]
    return one.model_copy(update={"objects": objects})


def _changed(value: Any, pools: pool_specs.PoolsSpec, run_id: str) -> Any:
    if isinstance(value, list):
        return [_changed(item, pools, run_id) for item in value]
    if not isinstance(value, dict):
        return value
    made: dict[str, Any] = {}
    for key, item in value.items():
        if key == "deviceClassName":
            made[key] = fake_objects.own_class(pools, item, run_id)
        elif key in ("requests", "limits") and isinstance(item, dict):
            made[key] = {_resource(pools, name, run_id): amount for name, amount in item.items()}
        else:
            made[key] = _changed(item, pools, run_id)
    return made


def _resource(pools: pool_specs.PoolsSpec, name: str, run_id: str) -> str:
    prefix = pool_specs.IMPLICIT_RESOURCE_PREFIX
    if name.startswith(prefix):
        return prefix + fake_objects.own_class(pools, name.removeprefix(prefix), run_id)
    own = f"{run_id}.{name}"
    return own if own in pools.extended_resources else name
