"""Devices get a NoExecute taint while pods use them, and the controller evicts the pods."""

from collections.abc import Iterable
from typing import Any

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.explore.worlds import world_fixtures, world_specs
from harness.explore.worlds.lifecycles import controlled_world
from harness.explore.worlds.scheduling import extended_claims
from harness.model.objects import Object

EXTENDED = "extended"
"""The pod that asks for an extended resource."""
TOLERATED: dict[str, Object] = {
    "plain": {},
    "tolerant": {"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]},
    "careless": {"tolerations": [{"operator": "Exists"}]},
    "patient": {
        "tolerations": [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}]
    },
}
"""The other pods, and what the requests of their claims add."""
STAYING = ("tolerant", "careless")
BEGIN = "1970-01-01T00:00:00Z"
"""When virtual time begins."""


class TaintEvictions(controlled_world.ControlledWorld):
    """Each pod has a device of its own when all devices get the taint.

    The pods that do not tolerate it must be deleted, and no others; no kubelet removes them.
    """

    evicts = True
    pods: Iterable[str] = TOLERATED

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._bound: concurrency.Queue[str] = concurrency.Queue("bound")
        self._known: set[str] = set()

    def objects(self) -> Iterable[Object]:
        """Return a node with a device for each pod, and the claims."""
        yield from world_fixtures.one_node(len([*self.pods]))
        for name, added in TOLERATED.items():
            if name in self.pods:
                yield world_fixtures.claim(name, **added)

    def begin(self) -> None:
        """Create the pods, and start the driver."""
        self.store.listen(self._on_commit)
        for name in self.pods:
            pod = world_fixtures.pod(name, name)
            if name == EXTENDED:
                extended_claims.ask_by_resource(pod["spec"])
            self.create(pod)
        concurrency.spawn("driver", self._taint)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        if world_fixtures.is_bound_pod(commit) and commit.object.name not in self._known:
            self._known.add(commit.object.name)
            self._bound.put(commit.object.name)

    def _taint(self) -> None:
        for _ in self.pods:
            self._bound.get()
        self.runtime.point()
        with self.runtime.atomically():
            self.store.patch(resources.SLICES, "", world_fixtures.NODE, _tainted)

    def unfinished(self) -> str | None:
        """Return which pod stays that must go, or goes that may stay."""
        for pod in self.documents(resources.PODS):
            name, is_gone = pod["metadata"]["name"], "deletionTimestamp" in pod["metadata"]
            if "nodeName" not in pod["spec"]:
                return f"unbound: {name} is not bound"
            if is_gone == (name in STAYING):
                what = "is evicted, but tolerates the taint" if is_gone else "is not evicted"
                return f"eviction: {name} {what}"
        return None


class ExtendedEvictions(TaintEvictions):
    """The same with a pod that asks for an extended resource, whose claim only its status names."""

    pods = ("plain", EXTENDED)


def _tainted(document: Object) -> Object:
    taint = {"key": "broken", "effect": "NoExecute", "timeAdded": BEGIN}
    spec = document["spec"]
    listed = [{**device, "taints": [taint]} for device in spec["devices"]]
    return {**document, "spec": {**spec, "devices": listed}}


WORLDS: dict[str, world_specs.WorldSpec] = {
    "taint-evictions": controlled_world.spec(
        TaintEvictions,
        "all devices get a NoExecute taint that some of their pods tolerate",
        binders=world_specs.ANY_BINDERS,
    ),
    "extended-evictions": controlled_world.spec(
        ExtendedEvictions,
        "devices of an extended resource get a NoExecute taint",
        binders=world_specs.ANY_BINDERS,
    ),
}
