"""A scheduler that remembers refusals decides as one that looks at every node each time."""

import random
from typing import Any

import pytest

from harness.subject.objects import claims
from harness.subject.plugin import scheduling_attempts
from harness.subject.scheduling import node_search
from tests.support import api_objects, local_servers, plugin_world

Object = dict[str, Any]
NODES = [f"worker-{index}" for index in range(4)]
CLAIMS: list[Object] = [
    {"requests": [api_objects.exactly()]},
    {"requests": [api_objects.exactly(count=2)]},
    {
        "requests": [api_objects.exactly(count=2)],
        "constraints": [{"matchAttribute": f"{api_objects.DRIVER}/numa"}],
    },
]


class World:
    """Nodes with devices, claims that come and go, and both schedulers."""

    def __init__(self, stream: random.Random) -> None:
        self.stream = stream
        self.parts = plugin_world.World(local_servers.LocalServer(), devices=())
        self.nodes = {name: api_objects.node(name) for name in NODES}
        self.slices: dict[str, Object] = {}
        self.held: list[Object] = []
        self.search = node_search.NodeSearch(self.parts.plugin)
        self.numbers = iter(range(100_000))
        for name in NODES:
            self.change_slice(name)

    def change_slice(self, name: str) -> None:
        """Publish other devices of a node; one slice in four is for all nodes."""
        made = api_objects.slice_of(
            *(
                api_objects.device(f"d{index}", numa=self.stream.randrange(2))
                for index in range(self.stream.randint(1, 4))
            ),
            pool=name,
        )
        made["metadata"]["name"] = f"slice-of-{name}"
        if not self.stream.randrange(4):
            del made["spec"]["nodeName"]
            made["spec"]["allNodes"] = True
        old, self.slices[name] = self.slices.get(name), made
        if old is None:
            self.parts.inventory.on_add(made, initial=True)
        else:
            self.parts.inventory.on_update(old, made)

    def step(self) -> None:
        kind = self.stream.randrange(10)
        if kind < 6:
            self.schedule()
        elif kind < 8 and self.held:
            self.free(self.held.pop(self.stream.randrange(len(self.held))))
        elif kind == 8:
            self.change_slice(self.stream.choice(NODES))
        else:
            name = self.stream.choice(NODES)
            self.nodes[name] = api_objects.node(name, unschedulable=not self.stream.randrange(3))

    def schedule(self) -> None:
        name = f"c{next(self.numbers)}"
        claim = api_objects.claim(name, version=1)
        claim["spec"]["devices"] = self.stream.choice(CLAIMS)
        self.parts.cache.on_add(claim, initial=False)
        pod = api_objects.known_pod(f"of-{name}", use=[name])
        attempts = [self.parts.plugin.pre_filter(pod) for _ in range(2)]
        assert attempts[0].refused is not None
        attempts[1].refused = None
        found, expected = (self.search.find(item, [*self.nodes.values()]) for item in attempts)
        assert found == expected
        if found is None:
            assert attempts[0].refusals == attempts[1].refusals
            self.parts.cache.on_delete(claim)
        else:
            self.allocate(attempts[0], *found)

    def allocate(
        self, attempt: scheduling_attempts.Attempt, node: Object, planned: list[Object]
    ) -> None:
        self.parts.plugin.reserve(attempt, node, planned)
        (claim,) = attempt.claims
        if self.stream.randrange(3):
            stored = claims.with_status(claim, allocation=planned[0])
            stored = claims.with_metadata(stored, resourceVersion="2")
            self.parts.cache.on_update(claim, stored)
            self.held.append(stored)
        self.parts.flight.remove(claims.uid_of(claim))

    def free(self, claim: Object) -> None:
        self.parts.cache.on_delete(claim)


@pytest.mark.parametrize("seed", range(6))
def test_agrees_with_a_search_of_every_node(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    world, skipped = World(random.Random(seed)), [0]
    without_refused = node_search.without_refused

    def counted(ordered: Any, refused: Any) -> Any:
        left = [*without_refused(ordered, refused)]
        skipped[0] += len(ordered) - len(left)
        return left

    monkeypatch.setattr(node_search, "without_refused", counted)
    for _ in range(400):
        world.step()
    assert skipped[0] > 100  # or nothing was compared
