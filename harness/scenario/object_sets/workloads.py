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
    shape: shapes.PodTemplate
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
        """The entries of its pods' `resourceClaims`."""
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
    at, template = workload_kinds.TEMPLATES[item.kind], item.manifest
    for key in at.split(".") if at else ():
        template = template[key]
    shape = shapes.of(item.manifest)
    one = Workload(name=item.name, at=at, template=template, shape=shapes.pod_template(template))
    match shape:
        case shapes.CronJob():
            return _of_job(one, shape.spec.job_template.spec)
        case shapes.Job():
            return _of_job(one, shape.spec)
        case shapes.Replicated():
            return dataclasses.replace(
                one,
                pods=shape.spec.replicas,
                at_once=shape.spec.replicas,
                is_suspended=shape.spec.suspend,
                is_per_node=item.kind == workload_kinds.PER_NODE,
            )
    return one


def _of_job(one: Workload, job: shapes.JobSpec) -> Workload:
    return dataclasses.replace(
        one,
        pods=job.pods,
        at_once=min(job.parallelism, job.pods),
        completes=True,
        is_suspended=job.suspend,
    )
