"""Checks the objects of an import as the API server of a run does, before anything else."""

import contextlib
import random
from collections.abc import Collection, Iterable, Iterator

import msgspec

from harness import clocks
from harness.client import apis
from harness.importing import materials, pods
from harness.manifests import places, sources, workload_kinds
from harness.model.objects import Object
from harness.scenario import cluster_features
from harness.scenario.object_sets import reading

_NAMESPACE = "imported"
_MESSAGE_CHARACTERS_MAX = 400
_INVALID = " is invalid: "
_NEWER = {
    "spec": ("partitionTypeAttribute", "skipNodeOperations"),
    "spec.devices[]": ("nodeAllocatableResources", "compatibilityGroups"),
    "spec.devices[].consumesCounters[]": ("compatibilityGroups",),
}
"""Fields that ResourceSlices have since Kubernetes 1.37, and the API server of a run has not."""
_NEWER_IN_CLAIMS = "derivedAttributes"
"""A field of requests since 1.37, without which a claim asks for something else."""
_RESOURCES = {
    materials.NODE: apis.NODES,
    materials.SLICE: apis.SLICES,
    materials.CLASS: apis.DEVICE_CLASSES,
    materials.RULE: apis.TAINT_RULES,
    materials.CLAIM: apis.CLAIMS,
    materials.TEMPLATE: apis.CLAIM_TEMPLATES,
    materials.POD_GROUP: apis.POD_GROUPS,
}
_UNDECODED = "not a "
"""How the API server begins about fields that are unknown, or have another type."""
_METADATA = ("labels", "annotations")


def checked(manifests: Iterable[sources.Manifest], notes: materials.Notes) -> Iterator[Object]:
    """Yield the objects of manifests, without the fields of newer releases, which `notes` get.

    Raises ManifestError, with the place, for an object that an API server would refuse.
    """
    server = _Server()
    for manifest in manifests:
        if manifest.kind == materials.SLICE:
            dropped = {
                field
                for place, fields in _NEWER.items()
                for table in places.tables(manifest.obj, place)
                for field in fields
                if table.pop(field, None) is not None
            }
            for field in sorted(dropped):
                notes.add(f"left out: {field} of ResourceSlices, which 1.36 does not have")
        with _gates(cluster_features.EMBEDDED_GATES):
            why = _problem(server, manifest)
        if why.endswith(f'{_NEWER_IN_CLAIMS}"'):
            what = f"{manifest.kind} {manifest.name}: {_NEWER_IN_CLAIMS}, which 1.36 does not have"
            notes.add(f"left out: {what}")
            continue
        if why:
            raise manifest.error(f"the API server would refuse it: {why}")
        yield manifest.obj


def _problem(server: "_Server", manifest: sources.Manifest) -> str:
    """Return why the API server would refuse an object; empty: it would not, or is not asked."""
    obj = manifest.obj
    if materials.is_workload(obj):
        made = workload_kinds.expanded(manifest)
        return next((why for one in made if (why := _problem_of_pods(server, one))), "")
    if obj["kind"] not in _RESOURCES or materials.is_foreign(obj):
        return ""
    if obj["kind"] == materials.NODE:
        spec, status = obj.get("spec"), obj.get("status")
        taints = {"taints": spec.get("taints")} if isinstance(spec, dict) else spec
        obj = {**obj, "spec": taints, "status": status}
    if obj["kind"] == materials.POD_GROUP and isinstance(spec := obj.get("spec"), dict):
        kept = {key: value for key, value in spec.items() if key not in reading.OF_GROUP}
        obj = {**obj, "spec": kept}
    return _asked(server, _RESOURCES[obj["kind"]], obj)


def _asked(server: "_Server", resource: apis.Resource, obj: Object) -> str:
    metadata = {key: obj["metadata"][key] for key in _METADATA if key in obj["metadata"]}
    return server.problem(resource, {**obj, "metadata": {"name": "named", **metadata}})


def _problem_of_pods(server: "_Server", manifest: sources.Manifest) -> str:
    obj, place = manifest.obj, workload_kinds.TEMPLATES[manifest.kind]
    resource = materials.WORKLOADS[manifest.kind]
    why = _asked(server, resource, {**obj, "apiVersion": resource.api_version})
    if why.startswith(_UNDECODED):
        return why
    if not places.value(obj, f"{place}.spec.containers".lstrip(".")):
        raise manifest.error("expected pods with containers, got none", field=f"{place}.spec")
    pod = materials.pod_template(pods.cut_down(obj, (), materials.Notes()))
    named = {"apiVersion": "v1", "kind": materials.POD, "metadata": {}}
    why = _asked(server, apis.PODS, {**named, "spec": pod["spec"]})
    return f"{place}.{why}".lstrip(".") if why else ""


class _Server:
    """Says what an embedded API server would say of new objects, in a store without commits."""

    def __init__(self) -> None:
        from harness.apiserver.endpoints import handlers
        from harness.apiserver.registry import store as stores

        now = clocks.wall_text
        store = stores.Store(now=now, stream=random.Random(1), track_managers=False)
        self._handler = handlers.Handler(store, now=now)
        marks = {"resource.kubernetes.io/admin-access": "true"}
        space = {"apiVersion": "v1", "kind": "Namespace"}
        self._ask(apis.NAMESPACES, {**space, "metadata": {"name": _NAMESPACE, "labels": marks}})

    def problem(self, resource: apis.Resource, obj: Object) -> str:
        from harness.apiserver.errors import status_errors

        try:
            self._ask(resource, obj, "&dryRun=All")
        except status_errors.StatusError as error:
            text = " ".join(error.message.split())
            return text.rpartition(_INVALID)[2][:_MESSAGE_CHARACTERS_MAX]
        return ""

    def _ask(self, resource: apis.Resource, obj: Object, how: str = "") -> None:
        from harness.apiserver.endpoints import request_info
        from harness.apiserver.scheme import resources

        key = resource.group, resource.version, resource.plural
        found = resources.find(*key) or resources.optional(*key)
        namespace = _NAMESPACE if resource.namespaced else ""
        target = request_info.Target(resource=found, namespace=namespace)
        request = request_info.of_url(
            f"{resource.path(namespace or None)}?fieldValidation=Strict{how}",
            method="POST",
            content_type="application/json",
            body=msgspec.json.encode(obj),
        )
        self._handler.answer(request, target)


@contextlib.contextmanager
def _gates(names: Collection[str]) -> Iterator[None]:
    from harness.apiserver.scheme import feature_gates

    before = {name: feature_gates.is_on(name) for name in names}
    feature_gates.choose(dict.fromkeys(names, True))
    try:
        yield
    finally:
        feature_gates.choose(before)
