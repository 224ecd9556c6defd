"""The pods that a manifest makes: one of a Pod, those of a controller from its pod template."""

import dataclasses
from collections.abc import Iterator

from harness.manifests import workload_kinds
from harness.scenario.object_sets import set_specs, shapes


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """The pods that belong to one object."""

    name: str
    at: str
    """Place of the pods' template in the object; empty: it is a Pod."""
    template: set_specs.Manifest
    """The template as the manifest has it: `metadata` and `spec`."""
    shape: shapes.Pods
    """The same with its types."""
    pods: int = 1
    """Number of its pods in each round."""
    at_once: int = 1
    """Number of pods that exist at once before the first has ended."""
    completes: bool = False
    """The pods end by themselves."""
    is_suspended: bool = False
    """It makes no pods."""
    is_per_node: bool = False
    """Each pod is for a node of its own."""

    def pod_names(self, prefix: str) -> list[str]:
        if not self.at:
            return [f"{prefix}-{self.name}"]
        return [f"{prefix}-{self.name}-{index}" for index in range(self.pods)]

    @property
    def entries(self) -> list[shapes.Entry]:
        return self.shape.spec.resource_claims or []


def of_set(objects: set_specs.ObjectSet) -> Iterator[tuple[set_specs.SetObject, Workload]]:
    """Yield each object of a set that makes pods, with its pods."""
    for item in objects.objects:
        if has_pods(item):
            yield item, of_object(item)


def has_pods(item: set_specs.SetObject) -> bool:
    """Return whether an object is a Pod, or has a template of pods."""
    return item.kind in workload_kinds.TEMPLATES


def of_object(item: set_specs.SetObject) -> Workload:
    """Return the pods of an object; its kind is one of those with pods."""
    at = workload_kinds.TEMPLATES[item.kind]
    shape = shapes.of(item.manifest)
    if not at:
        return Workload(name=item.name, at=at, template=item.manifest, shape=shape)
    is_job = item.kind in ("Job", "CronJob")
    pods = (shape.completions or shape.parallelism) if is_job else shape.replicas
    return Workload(
        name=item.name,
        at=at,
        template=workload_kinds.value(item.manifest, at),
        shape=shape.template,
        pods=pods,
        at_once=min(shape.parallelism, pods) if is_job else pods,
        completes=is_job,
        is_suspended=shape.suspend,
        is_per_node=item.kind == workload_kinds.PER_NODE,
    )
