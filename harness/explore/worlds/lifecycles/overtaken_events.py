"""A scheduler learns of a claim's freeing by its own write only, which overtakes the events."""

from collections.abc import Iterable
from typing import Any

from harness import concurrency
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.explore.worlds import world_fixtures, world_specs
from harness.explore.worlds.lifecycles import controlled_world
from harness.explore.worlds.scheduling import shared_claims
from harness.model.objects import Object

FIRST, SECOND = shared_claims.NAMES
NODES = ("worker-0", "worker-1")


class OvertakenEvents(controlled_world.ControlledWorld):
    """Two schedulers plan one claim on different nodes, and the claim controller frees it between.

    The first scheduler's allocation wins, its pod ends, and the claim is freed. The second one has
    the event of that allocation, meets a conflict, reads the free claim and writes its own plan. In
    its assume cache one allocation follows the other: the event between them comes later, and is
    old. Then its next pod needs a device of its node. No watch breaks, and no answer is lost.
    """

    schedulers_named = shared_claims.NAMES

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._bound = {name: concurrency.Event(f"{name}-bound") for name in ("pod-1", "pod-2")}
        super().__init__(*arguments, **options)

    def objects(self) -> Iterable[Object]:
        """Return two nodes with one device each, and two claims."""
        yield world_fixtures.device_class()
        for node in NODES:
            yield world_fixtures.node(node)
            yield world_fixtures.pool(world_fixtures.devices(1), name=node)
        yield world_fixtures.claim("claim-1")
        yield world_fixtures.claim("claim-2")

    def begin(self) -> None:
        """Create a pod of each scheduler, and start what follows their bindings."""
        self.store.listen(self._on_commit)
        self._create_pod("pod-1", "claim-1", FIRST, NODES[1])
        self._create_pod("pod-2", "claim-1", SECOND, NODES[0])
        concurrency.spawn("other-client", self._delete_first)
        concurrency.spawn("late-client", self._create_last)

    def _create_pod(self, name: str, claim: str, scheduler: str, node: str) -> None:
        selector = {"node": node}
        self.create(world_fixtures.pod(name, claim, scheduler=scheduler, nodeSelector=selector))

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        if world_fixtures.is_bound_pod(commit) and commit.object.name in self._bound:
            self._bound[commit.object.name].set()

    def _delete_first(self) -> None:
        self._bound["pod-1"].wait()
        self.api.delete(apis.PODS, "pod-1", namespace=world_fixtures.NAMESPACE, grace_period_s=0)

    def _create_last(self) -> None:
        self._bound["pod-2"].wait()
        self._create_pod("pod-3", "claim-2", SECOND, NODES[0])

    def unfinished(self) -> str | None:
        """Return whether the books of a scheduler are wrong; two pods may have to wait."""
        return self.differing_books()


WORLDS: dict[str, world_specs.WorldSpec] = {
    "reallocation-overtaken": controlled_world.spec(
        OvertakenEvents,
        "H2: a scheduler's write overtakes the events of a claim that was freed",
        binders=(1, 1),
    ),
}
