"""The search for a node: order, sampling, scores, and several threads in virtual time."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness import concurrency
from harness.subject import assembling
from harness.subject.plugin import scheduling_attempts
from harness.subject.scheduling import node_search, schedulers
from tests.support import api_objects, controlled_runtimes, local_servers, plugin_world

Object = dict[str, Any]
POD = api_objects.known_pod("p")
CHOICE = {"name": "r", "firstAvailable": [{"name": name} for name in "abc"]}
SCORED = api_objects.claim("c", version=1, requests=[CHOICE])


def nodes(count: int) -> list[Object]:
    return [api_objects.node(f"worker-{index}") for index in range(count)]


def name_of(found: tuple[Object, list[Object]] | None) -> str | None:
    return None if found is None else str(found[0]["metadata"]["name"])


class Plugin:
    """Answers for each node with what a function says."""

    def __init__(self, answer: Callable[[str], list[Object] | None]) -> None:
        self._answer = answer
        self.asked: list[str] = []

    def filter(self, attempt: scheduling_attempts.Attempt, node: Object) -> list[Object] | None:
        name = node["metadata"]["name"]
        self.asked.append(name)
        concurrency.step("test.filtering", node=name)
        allocations = self._answer(name)
        if allocations is None:
            attempt.refuse("no")
        return allocations

    def is_scored(self, attempt: scheduling_attempts.Attempt) -> bool:
        return any(attempt.prioritized())

    def score(self, attempt: scheduling_attempts.Attempt, allocations: list[Object]) -> int:
        return attempt.preference(allocations)


def search(plugin: Plugin, **options: Any) -> node_search.NodeSearch:
    chosen = node_search.SearchOptions(**options)
    return node_search.NodeSearch(plugin, chosen)  # type: ignore[arg-type]


def attempt(*claims: Object) -> scheduling_attempts.Attempt:
    return scheduling_attempts.Attempt(POD, list(claims), to_allocate=[*range(len(claims))])


def taken(alternative: str) -> list[Object]:
    return [{"devices": {"results": [{"request": f"r/{alternative}"}]}}]


def test_the_first_node_that_fits_is_taken() -> None:
    plugin = Plugin(lambda name: None if name < "worker-3" else [])
    asked = attempt()
    assert name_of(search(plugin).find(asked, nodes(9))) == "worker-3"
    assert plugin.asked == ["worker-0", "worker-1", "worker-2", "worker-3"]
    assert asked.refusals == {"no": 3}


def test_without_nodes_there_is_none() -> None:
    assert search(Plugin(lambda _: [])).find(attempt(), []) is None


@pytest.mark.parametrize(
    ("total", "wanted"), [(1, 1), (99, 99), (100, 100), (500, 230), (5000, 500), (10_000, 500)]
)
def test_how_many_nodes_have_to_fit(total: int, wanted: int) -> None:
    assert node_search.feasible_count(total) == wanted


def test_the_earliest_alternative_wins_among_a_sample() -> None:
    plugin = Plugin(lambda name: taken({"worker-4": "b", "worker-7": "b"}.get(name, "c")))
    assert name_of(search(plugin).find(attempt(SCORED), nodes(9))) == "worker-4"
    assert len(plugin.asked) == 9


def test_no_more_nodes_are_filtered_than_have_to_fit() -> None:
    plugin = Plugin(lambda _: taken("b"))
    assert name_of(search(plugin).find(attempt(SCORED), nodes(500))) == "worker-0"
    assert len(plugin.asked) == 230


def test_no_node_is_filtered_after_the_best_that_there_can_be() -> None:
    plugin = Plugin(lambda name: taken("a" if name == "worker-3" else "b"))
    assert name_of(search(plugin).find(attempt(SCORED), nodes(500))) == "worker-3"
    assert len(plugin.asked) == 4


def test_scores_are_parts_of_the_highest() -> None:
    assert node_search.normalized([8, 4, 0]) == [100, 50, 0]
    assert node_search.normalized([256, 255, 254]) == [100, 99, 99]
    assert node_search.normalized([0, 0]) == [0, 0]
    assert node_search.normalized([]) == []


# --------------------------------------------------------------------- several threads


@pytest.mark.parametrize("parallelism", [2, 3, 16])
def test_threads_rule_out_each_node_once(
    time: controlled_runtimes.VirtualTime, parallelism: int
) -> None:
    plugin, asked = Plugin(lambda _: None), attempt()
    assert search(plugin, parallelism=parallelism).find(asked, nodes(20)) is None
    assert sorted(plugin.asked) == sorted(f"worker-{index}" for index in range(20))
    assert asked.refusals == {"no": 20}


def test_threads_take_the_first_of_the_nodes_that_fit() -> None:
    plugin = Plugin(lambda name: taken("a") if name in ("worker-5", "worker-6") else None)
    found = search(plugin, parallelism=4).find(attempt(SCORED), nodes(9))
    assert name_of(found) == "worker-5"


def test_threads_stop_when_one_node_fits() -> None:
    plugin, asked = Plugin(lambda _: []), attempt()
    assert search(plugin, parallelism=2).find(asked, nodes(50)) is not None
    assert asked.is_stopped
    assert len(plugin.asked) <= 3


def test_an_error_on_one_thread_ends_the_attempt() -> None:
    def answer(name: str) -> list[Object] | None:
        if name == "worker-1":
            raise scheduling_attempts.AttemptError("broken slice")
        return None

    with pytest.raises(scheduling_attempts.AttemptError, match="broken slice"):
        search(Plugin(answer), parallelism=3).find(attempt(), nodes(50))


# ---------------------------------------------------- errors on later nodes of the sample

KIND = f'device.attributes["{api_objects.DRIVER}"].kind'
BIG = {"cel": {"expression": f'{KIND} == "big"'}}
GOOD, OTHER = api_objects.device("a", kind="big"), api_objects.device("a", kind="small")
NO_KIND = api_objects.device("a")
SELECTED = api_objects.exactly(selectors=[BIG])
CHOSEN = {
    "name": "r",
    "firstAvailable": [
        {"name": name, "deviceClassName": api_objects.CLASS, "selectors": [BIG]} for name in "ab"
    ],
}
EVERY = api_objects.exactly(allocationMode="All")
ALIKE = {"matchAttribute": f"{api_objects.DRIVER}/kind"}
Find = Callable[..., str | None]


@pytest.fixture
def find(server: local_servers.LocalServer) -> Find:
    """Return the node for a claim, where worker-N has the Nth of some slices."""
    numbers = itertools.count()

    def find(
        claim: Object,
        slices: Sequence[Object],
        parts: schedulers.SchedulerParts | None = None,
        parallelism: int = 1,
    ) -> str | None:
        world = plugin_world.World(server, parts, devices=())
        for piece in slices:
            world.inventory.on_add(piece, initial=True)
        name = f"c{next(numbers)}"
        world.claim(name, **claim)
        asked = world.plugin.pre_filter(world.pod(name, name))
        known = [api_objects.node(f"worker-{index}") for index in range(1, len(slices) + 1)]
        options = node_search.SearchOptions(parallelism=parallelism)
        return name_of(node_search.NodeSearch(world.plugin, options).find(asked, known))

    return find


def on(index: int, *devices: Object, **more: Any) -> Object:
    return api_objects.slice_of(*devices, pool=f"worker-{index}", **more)


FAILING = [
    pytest.param({"requests": [SELECTED]}, [NO_KIND], {}, "no such key", id="selector"),
    pytest.param({"requests": [CHOSEN]}, [NO_KIND], {}, "no such key", id="alternatives"),
    pytest.param({"requests": [EVERY]}, [GOOD], {"count": 2}, "being updated", id="incomplete"),
    pytest.param({"requests": [EVERY]}, [GOOD, GOOD], {}, "currently invalid", id="invalid"),
    pytest.param(
        {"requests": [EVERY]},
        [api_objects.device(f"d{index}") for index in range(33)],
        {},
        "exceeds the claim limit",
        id="too many",
    ),
    pytest.param(
        {"requests": [EVERY], "constraints": [ALIKE]},
        [GOOD, api_objects.device("b", kind="small")],
        {},
        "constraint would not be satisfied",
        id="constraint",
    ),
]


OF_ONE_NODE = ("being updated", "currently invalid")
"""Errors that only rule out the node; in the releases they end the attempt."""


@pytest.mark.parametrize("release", [None, "1.36.2", "1.34.2"])
@pytest.mark.parametrize(("place", "parallelism"), [(1, 1), (2, 3), (3, 1)])
@pytest.mark.parametrize(("claim", "devices", "more", "message"), FAILING)
def test_an_error_on_any_node_ends_the_attempt(
    find: Find,
    claim: Object,
    devices: Sequence[Object],
    more: Object,
    message: str,
    place: int,
    release: str | None,
    parallelism: int,
) -> None:
    slices = [on(1, GOOD), on(2, GOOD), on(3, GOOD)]
    slices[place - 1] = on(place, *devices, **more)
    parts = assembling.parts(release=release)
    if release is None and message in OF_ONE_NODE:
        other = "worker-2" if place == 1 else "worker-1"
        assert find(claim, slices, parts, parallelism) == other
        return
    with pytest.raises(scheduling_attempts.AttemptError, match=message):
        find(claim, slices, parts, parallelism)


def test_a_device_behind_the_one_that_is_taken_is_not_asked(find: Find) -> None:
    """On its node, too, the search ends before the selector could fail."""
    behind = api_objects.device("b")
    assert find({"requests": [SELECTED]}, [on(1, GOOD), on(2, GOOD, behind)]) == "worker-1"
    assert find({"requests": [SELECTED]}, [on(1, OTHER), on(2, GOOD, behind)]) == "worker-2"


def test_a_node_that_the_pod_cannot_run_on_does_not_fail(find: Find) -> None:
    """The selector fails only on a device of a node that is not there."""
    assert find({"requests": [SELECTED]}, [on(1, GOOD), on(9, NO_KIND)]) == "worker-1"


def test_an_incomplete_pool_matters_only_to_requests_for_all(find: Find) -> None:
    assert find({"requests": [SELECTED]}, [on(1, GOOD), on(2, GOOD, count=2)]) == "worker-1"


def test_a_node_beyond_the_sample_is_not_looked_at(find: Find) -> None:
    few = [on(index, GOOD) for index in range(1, 101)]
    assert find({"requests": [SELECTED]}, [*few, on(101, NO_KIND)]) == "worker-1"
    with pytest.raises(scheduling_attempts.AttemptError):
        find({"requests": [SELECTED]}, [*few[:99], on(100, NO_KIND), on(101, GOOD)])


# ------------------------------------------------------------------------- the list of nodes


def test_nodes_are_listed_in_natural_order_and_anew_when_one_changes() -> None:
    known = node_search.NodeList()
    for name in ("worker-10", "worker-9", "a"):
        known.on_add(api_objects.node(name), initial=True)
    listed = known.listed()
    assert [node["metadata"]["name"] for node in listed] == ["a", "worker-9", "worker-10"]
    assert known.listed() is listed
    known.on_delete(api_objects.node("worker-9"))
    old = api_objects.node("a")
    new = {**old, "spec": {"unschedulable": True}}
    known.on_update(old, new)
    assert known.listed() == (new, listed[2])
    assert listed[0] == old
