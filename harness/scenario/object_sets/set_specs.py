"""A set of objects that a user creates together: the content of one file of manifests."""

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias

import pydantic

from harness.manifests import workload_kinds
from harness.scenario.fields import Spec
from harness.scenario.object_sets import shapes

SETS_MAX, OBJECTS_MAX = 32, 200
NAME_MAX = 200
"""Characters of a name; a run puts the name of a user and a number before it."""
Manifest: TypeAlias = dict[str, Any]
CLAIM, TEMPLATE, POD = "ResourceClaim", "ResourceClaimTemplate", "Pod"
POD_GROUP = "PodGroup"


class SetObject(Spec):
    """An object of a file, as a user of the run creates it but for its names."""

    at: str = ""
    """Its place in the file, as text."""
    manifest: Manifest
    """The object."""

    @property
    def kind(self) -> str:
        return str(self.manifest["kind"])

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    def on_nodes(self, nodes: int) -> "SetObject":
        """Return the object; a DaemonSet with a number of pods."""
        if self.kind != workload_kinds.PER_NODE:
            return self
        spec = {**self.manifest["spec"], "replicas": min(nodes, shapes.PODS_MAX)}
        return self.model_copy(update={"manifest": {**self.manifest, "spec": spec}})

    @pydantic.field_validator("manifest")
    @classmethod
    def _require_readable(cls, manifest: Manifest) -> Manifest:
        if why := problem(manifest):
            raise ValueError(why)
        return manifest


class ObjectSet(Spec):
    """The objects of one file, which belong together."""

    file: str
    """Name of the file."""
    objects: Annotated[list[SetObject], pydantic.Field(min_length=1, max_length=OBJECTS_MAX)]
    """The objects, in its order."""
    left_out: list[str] = []
    """Whatever the file says and a run has no use for, as text."""

    def of_kind(self, kind: str) -> list[SetObject]:
        return [item for item in self.objects if item.kind == kind]

    def names(self, kind: str) -> list[str]:
        return [item.name for item in self.of_kind(kind)]

    @property
    def claim_specs(self) -> Iterator[shapes.ClaimSpec]:
        """The specs of its claims, and of those that its templates give."""
        for item in (*self.of_kind(CLAIM), *self.of_kind(TEMPLATE)):
            yield shapes.of(item.manifest)

    def on_nodes(self, nodes: int) -> "ObjectSet":
        return self.model_copy(update={"objects": [one.on_nodes(nodes) for one in self.objects]})

    def where(self, item: SetObject) -> str:
        """Return the place of an object in sentences: `job.yaml, document 2: Pod one`."""
        return f"{', '.join(filter(None, [self.file, item.at]))}: {item.kind} {item.name}"


def problem(manifest: Manifest) -> str:
    """Return why a manifest cannot be read as an object of its kind; empty if it can."""
    kind = manifest.get("kind")
    if kind not in shapes.KINDS:
        return f"expected one of {', '.join(shapes.KINDS)}, got the kind {kind!r:.60}"
    name = workload_kinds.value(manifest, "metadata.name")
    if not isinstance(name, str) or not 0 < len(name) <= NAME_MAX:
        return f"metadata.name: expected a name of at most {NAME_MAX} characters, got {name!r:.60}"
    try:
        shapes.of(manifest)
    except ValueError as error:
        return str(error)
    return ""
