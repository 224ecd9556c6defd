"""Asks whether an API server would accept the objects of files, before a run.

The embedded API server's own decoding and validation is asked, in this process and without a
store's commits, so that a mistake is named with its file and the field's path.
"""

import contextlib
import random
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import msgspec

from harness import clocks, errors
from harness.client import apis
from harness.cluster.fake_nodes import fake_objects, imported_objects
from harness.manifests import reading
from harness.model import naming
from harness.model.objects import Object
from harness.scenario import cluster_features, imported_pools, loading, pool_specs, specs
from harness.traffic import object_rounds

if TYPE_CHECKING:
    from harness.apiserver.endpoints import request_info

_MESSAGE_CHARACTERS_MAX = 400
_INVALID = " is invalid: "


def require_usable(loaded: loading.Loaded) -> None:
    """Raise an error with file and field for refused objects of `pools.from` or `traffic.objects`.

    It is a ManifestError or a ScenarioError.
    """
    if loaded.scenario.object_sets:
        _require_accepted(loaded.scenario)
    if loaded.pool_objects is not None:
        _require_accepted_pools(loaded.scenario.pools, loaded.pool_objects)


def _require_accepted(scenario: specs.Scenario) -> None:
    """Ask for the objects that users create.

    PodGroups and their pods need gates that the run switches on: its API server is asked there.
    """
    server = Server(namespace="tried")
    for where, resource, obj in object_rounds.ObjectRounds(scenario, run_id="tried").tried():
        if resource is apis.POD_GROUPS or "schedulingGroup" in obj["spec"]:
            continue
        if problem := server.problem(resource, obj):
            raise errors.ScenarioError(f"{where}: the API server would refuse it: {problem}")


def _require_accepted_pools(pools: pool_specs.PoolsSpec, found: imported_pools.Imported) -> None:
    once = pools.model_copy(update={"copies": 1})
    with gates({cluster_features.LISTS} if once.has("lists") else ()):
        server = Server()
        for kind, number, resource, obj in _created(once, found):
            problem = server.problem(resource, obj)
            if problem:
                raise _explained(found, kind, number, problem)


def _created(
    pools: pool_specs.PoolsSpec, found: imported_pools.Imported
) -> Iterator[tuple[str, int, apis.Resource, Object]]:
    given = imported_objects.ImportedObjects(pools, found, labels={})
    for index in range(found.summary.nodes):
        name = naming.node(index, prefix=pools.node_prefix)
        known = given.node(index, name) or {}
        node = fake_objects.node_object(name, labels=known["labels"], amounts=known["amounts"])
        yield "Node", index, apis.NODES, node
    for objects in (given.device_classes, given.templates, given.rules, given.slices):
        for number, obj in enumerate(objects()):
            kind = obj["kind"]
            yield kind, number, imported_objects.RESOURCES[kind], obj


def _explained(
    found: imported_pools.Imported, kind: str, number: int, problem: str
) -> errors.ManifestError:
    manifests = (item for item in reading.read(found.paths) if item.kind == kind)
    for index, manifest in enumerate(manifests):
        if index == number:
            return manifest.error(f"the API server would refuse it: {problem}")
    return errors.ManifestError(f"{', '.join(found.paths)}: {kind}: {problem}")


class Server:
    """Says what an embedded API server would say of new objects."""

    def __init__(self, *, namespace: str = "default") -> None:
        """`namespace`: where objects are created; one that is not there may use admin access."""
        from harness.apiserver.endpoints import handlers
        from harness.apiserver.registry import store as stores

        now = clocks.wall_text
        store = stores.Store(now=now, stream=random.Random(1), track_managers=False)
        self._handler = handlers.Handler(store, now=now)
        self._namespace = namespace
        marks = {"resource.kubernetes.io/admin-access": "true"}
        space = {"apiVersion": "v1", "kind": "Namespace"}
        meta = {"metadata": {"name": namespace, "labels": marks}}
        self.problem(apis.NAMESPACES, {**space, **meta}, is_tried=False)

    def problem(self, resource: apis.Resource, obj: Object, *, is_tried: bool = True) -> str:
        """Return why it would refuse an object; empty: it would not.

        `is_tried` false: it keeps the object.
        """
        from harness.apiserver.endpoints import request_decoding, request_info
        from harness.apiserver.errors import status_errors

        path = resource.path(self._namespace if resource.namespaced else None)
        request = request_info.of_target(
            f"{path}?fieldValidation=Strict{'&dryRun=All' * is_tried}",
            method="POST",
            content_type="application/json",
            body=msgspec.json.encode(obj),
        )
        try:
            self._handler.answer(request_decoding.decode(request, self._target(resource)))
        except status_errors.StatusError as error:
            text = " ".join(error.message.split())
            return text.rpartition(_INVALID)[2][:_MESSAGE_CHARACTERS_MAX]
        return ""

    def _target(self, resource: apis.Resource) -> "request_info.Target":
        from harness.apiserver.endpoints import request_info
        from harness.apiserver.scheme import resources

        key = resource.group, resource.version, resource.plural
        found = resources.find(*key) or resources.optional(*key)
        return request_info.Target(
            resource=found,
            namespace=self._namespace if resource.namespaced else "",
            name="",
            subresource="",
            is_watch=False,
            is_object=True,
            body_type=found,
        )


@contextlib.contextmanager
def gates(names: Collection[str]) -> Iterator[None]:
    from harness.apiserver.scheme import feature_gates

    before = {name: feature_gates.is_on(name) for name in names}
    feature_gates.choose(dict.fromkeys(names, True))
    try:
        yield
    finally:
        feature_gates.choose(before)
