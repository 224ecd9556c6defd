"""The fake world of a run: its namespace, its nodes, its device class, and the device pools as ResourceSlices.

Everything carries the run's id as a label. `remove` undoes exactly what `publish` did: by uid, so that what somebody else has made
under the same name stays.
"""

import dataclasses

from harness import clocks, errors
from harness.client import apis
from harness.cluster import contracts, fakes, leases
from harness.model import naming
from harness.scenario import specs

Object = apis.Object
RUN_LABEL = naming.RUN_LABEL
REMOVE_TIMEOUT_S = 120.0
"""kube-controller-manager takes its time with a namespace of a thousand pods."""
ACCOUNT_TIMEOUT_S = 20.0
REMOVE_INTERVAL_S = 0.5
_NOT_READY = "node.kubernetes.io/not-ready"
_ANY = contracts.Capabilities()
_CLUSTER_WIDE = (apis.NAMESPACES, apis.DEVICE_CLASSES, apis.NODES, apis.SLICES)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """An object that the run has created."""

    resource: apis.Resource
    name: str
    uid: str


@dataclasses.dataclass(slots=True, kw_only=True)
class World:
    """What was published, in this order."""

    namespace: str
    run_id: str
    on: contracts.Capabilities
    """What the cluster does by itself, and what is left to us."""
    created: list[Created] = dataclasses.field(default_factory=list)

    def names(self, resource: apis.Resource) -> list[str]:
        """The names of what was created of a resource."""
        return [item.name for item in self.created if item.resource is resource]

    @property
    def nodes(self) -> list[str]:
        """The fake nodes."""
        return self.names(apis.NODES)

    @property
    def slices(self) -> list[str]:
        """The ResourceSlices."""
        return self.names(apis.SLICES)

    @property
    def device_class(self) -> str:
        """The class that claims name."""
        return self.names(apis.DEVICE_CLASSES)[0]


def publish(
    api: apis.Api,
    pools: specs.PoolsSpec,
    *,
    namespace: str,
    run_id: str,
    admin: bool = False,
    on: contracts.Capabilities = _ANY,
) -> World:
    """Create everything; ClusterError when something of the name is there already, and then nothing of it stays."""
    world = World(namespace=namespace, run_id=run_id, on=on)
    try:
        _publish(api, pools, world, admin=admin)
        if on.service_accounts:
            _wait_for_account(api, namespace)
    except BaseException:
        remove(api, world)
        raise
    return world


def _publish(api: apis.Api, pools: specs.PoolsSpec, world: World, *, admin: bool) -> None:
    labels = {RUN_LABEL: world.run_id}
    marks = {"resource.kubernetes.io/admin-access": "true"} if admin else {}
    space = {"metadata": {"name": world.namespace, "labels": labels | marks}}
    _create(api, world, apis.NAMESPACES, space)
    _create(api, world, apis.DEVICE_CLASSES, fakes.device_class(pools, labels=labels))
    for index in range(pools.nodes):
        node = naming.node(index, prefix=pools.node_prefix)
        taints = [fakes.taint(world.run_id)] if world.on.taints else []
        made = fakes.node_object(node, labels=labels, taints=taints)
        _untaint(api, _create(api, world, apis.NODES, made))
        for item in fakes.slice_objects(pools, node, labels=labels):
            _create(api, world, apis.SLICES, item)


def find(api: apis.Api, run_id: str, *, on: contracts.Capabilities = _ANY) -> World | None:
    """What is left of a run that could not remove it, by its label; None when there is nothing."""
    world = World(namespace="", run_id=run_id, on=on)
    for resource in _CLUSTER_WIDE:
        for item in api.list(resource, label_selector=f"{RUN_LABEL}={run_id}").items:
            meta = item["metadata"]
            world.created.append(Created(resource=resource, name=meta["name"], uid=meta["uid"]))
    world.namespace = next(iter(world.names(apis.NAMESPACES)), "")
    return world if world.created else None


def remove(api: apis.Api, world: World) -> None:
    """Delete everything, and wait until the namespace is gone."""
    spaces = world.names(apis.NAMESPACES)
    for space in spaces:
        _empty(api, space)
    for item in reversed(world.created):
        _delete(api, item)
    leases.remove(api, world.run_id)
    for space in spaces:
        clocks.wait_until(
            lambda space=space: _is_gone(api, space, world.on),  # type: ignore[misc]
            timeout_s=REMOVE_TIMEOUT_S,
            why=f"namespace {space} to be gone",
            interval_s=REMOVE_INTERVAL_S,
        )


def _is_gone(api: apis.Api, namespace: str, on: contracts.Capabilities) -> bool:
    """Whether it is; what came too late to be taken away with the rest, and so keeps it, is taken away now."""
    if not _exists(api, apis.NAMESPACES, namespace):
        return True
    _empty(api, namespace)
    if not on.namespace_controller:
        _finalize(api, namespace)
    return not _exists(api, apis.NAMESPACES, namespace)


def _empty(api: apis.Api, namespace: str) -> None:
    """Pods and claims do not go by themselves: whoever cares for their finalizers and their graceful ends has been stopped."""
    for claim in api.list(apis.CLAIMS, namespace=namespace).items:
        _drop_finalizers(api, claim)
    for pod in api.list(apis.PODS, namespace=namespace).items:
        with apis.if_there():
            api.delete(apis.PODS, pod["metadata"]["name"], namespace=namespace, grace_period_s=0)


def _finalize(api: apis.Api, namespace: str) -> None:
    """The namespace controller's work: delete what is in the namespace, then let it go."""
    for resource in (apis.CLAIMS, apis.CLAIM_TEMPLATES, apis.EVENTS):
        for item in api.list(resource, namespace=namespace).items:
            with apis.if_there():
                api.delete(resource, item["metadata"]["name"], namespace=namespace)
    with apis.if_there():
        space = api.get(apis.NAMESPACES, namespace)
        api.finalize_namespace({**space, "spec": {"finalizers": []}})


def _untaint(api: apis.Api, node: Object) -> None:
    """Take away the taint of admission (TaintNodesByCondition): where no node-lifecycle controller runs, nobody else would."""
    taints = node["spec"].get("taints") or []
    kept = [taint for taint in taints if taint["key"] != _NOT_READY]
    if len(kept) < len(taints):
        api.patch(apis.NODES, node["metadata"]["name"], {"spec": {"taints": kept}})


def _wait_for_account(api: apis.Api, namespace: str) -> None:
    clocks.wait_until(
        lambda: _exists(api, apis.SERVICE_ACCOUNTS, "default", namespace),
        timeout_s=ACCOUNT_TIMEOUT_S,
        why=f"the service account of namespace {namespace} (kube-controller-manager makes it)",
    )


def _create(api: apis.Api, world: World, resource: apis.Resource, obj: Object) -> Object:
    try:
        made = api.create(resource, obj)
    except apis.ApiError as error:
        raise _explained(error, resource, obj["metadata"]["name"]) from error
    meta = made["metadata"]
    world.created.append(Created(resource=resource, name=meta["name"], uid=meta["uid"]))
    return made


def _explained(error: apis.ApiError, resource: apis.Resource, name: str) -> errors.HarnessError:
    if error.is_already_exists:
        return errors.ClusterError(
            f"expected no {resource.kind} {name!r} on the cluster, but there is one: "
            "another run uses this cluster, or one was cut off; remove it or use another cluster"
        )
    if error.is_forbidden:
        return errors.ClusterError(
            f"expected to be allowed to create {resource.kind} {name!r}, but: {error.message}. "
            f"Use credentials that may create and delete {resource.plural} (`kubectl auth can-i create {resource.plural}`)"
        )
    return error


def _delete(api: apis.Api, item: Created) -> None:
    """Delete what is there and is ours."""
    try:
        with apis.if_there():
            api.delete(item.resource, item.name, uid=item.uid)
    except apis.ApiError as error:
        if not error.is_conflict:
            raise


def _drop_finalizers(api: apis.Api, claim: Object) -> None:
    meta = claim["metadata"]
    if not meta.get("finalizers"):
        return
    with apis.if_there():
        api.patch(
            apis.CLAIMS,
            meta["name"],
            {"metadata": {"finalizers": None}},
            namespace=meta["namespace"],
        )


def _exists(
    api: apis.Api, resource: apis.Resource, name: str, namespace: str | None = None
) -> bool:
    try:
        api.get(resource, name, namespace=namespace)
    except apis.ApiError as error:
        if not error.is_not_found:
            raise
        return False
    return True
