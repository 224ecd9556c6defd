"""Requests of pods, room on nodes, and which node is best; kube-scheduler's own examples."""

import random
from typing import Any

import pytest

from harness.subject.objects import nodes
from harness.subject.queueing import cluster_events, queueing_hints
from harness.subject.scheduling import assigned_pods, node_resources
from tests.support import api_objects

Object = dict[str, Any]
MIB = 2**20


def container(**requests: str) -> Object:
    return {"name": "c", "resources": {"requests": requests}}


def pod(name: str = "p", *containers: Object, init: tuple[Object, ...] = (), **spec: Any) -> Object:
    made = api_objects.known_pod(name)
    made["spec"] |= {"containers": list(containers) or [{"name": "c"}], **spec}
    if init:
        made["spec"]["initContainers"] = list(init)
    return made


def node(name: str, cpu: str = "8", memory: str = "32Gi", pods: str = "110") -> Object:
    amounts = {"cpu": cpu, "memory": memory, "pods": pods}
    return api_objects.node(name) | {"status": {"allocatable": amounts}}


def names(found: Any) -> list[str]:
    return [item["metadata"]["name"] for item in found]


# ------------------------------------------------------------------------- pure functions


def test_a_container_without_requests_weighs_as_if_it_had_some() -> None:
    request = node_resources.of_pod(pod("p", {"name": "a"}, container(cpu="300m")))
    assert request == node_resources.PodRequest(300, 0, 400, 400 * MIB)


def test_init_containers_sidecars_and_overhead() -> None:
    sidecar = {**container(cpu="1", memory="1Mi"), "restartPolicy": "Always"}
    asked = pod(
        "p",
        container(cpu="2", memory="2Mi"),
        init=(sidecar, container(cpu="5", memory="1Mi")),
        overhead={"cpu": "10m"},
    )
    request = node_resources.of_pod(asked)
    assert (request.cpu_m, request.memory) == (6010, 3 * MIB)


@pytest.mark.parametrize(
    ("offered", "requests", "expected"),
    [
        # least_allocated_test.go
        (("4000m", "10000"), ("3000m", "5000"), (25 + 50) // 2),
        (("6000m", "10000"), ("3000m", "5000"), 50),
        (("10000m", "20000"), ("0", "0"), 100),
        (("4000m", "10000"), ("5000m", "5000"), 50 // 2),  # more than there is
        (("0", "10000"), ("3000m", "5000"), 50),  # what is not offered does not count
    ],
)
def test_the_least_allocated_node_scores_highest(
    offered: tuple[str, str], requests: tuple[str, str], expected: int
) -> None:
    use = node_resources.of_node(node("n", *offered))
    request = node_resources.of_pod(pod("p", container(cpu=requests[0], memory=requests[1])))
    balanced = node_resources.score(use, request) - expected
    if request.cpu_m or request.memory:
        cpu = min(request.cpu_m / use.cpu_m, 1) if use.cpu_m else None
        apart = abs(cpu - request.memory / use.memory) if cpu is not None else 0
        assert balanced == int((1 - apart / 2) * 100)
    else:
        assert balanced == 0


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ({}, None),
        ({"cpu": "8"}, None),
        ({"cpu": "8001m"}, nodes.TOO_LITTLE_CPU),
        ({"memory": "33Gi"}, nodes.TOO_LITTLE_MEMORY),
    ],
)
def test_what_a_node_has_too_little_of(requests: dict[str, str], expected: str | None) -> None:
    use = node_resources.of_node(node("n"))
    assert node_resources.refusal(use, node_resources.of_pod(pod("p", container(**requests)))) == (
        expected
    )


def test_a_node_has_places_for_so_many_pods() -> None:
    request = node_resources.of_pod(pod())
    use = node_resources.of_node(node("n", pods="2"))
    full = use.changed_by(request, 1).changed_by(request, 1)
    assert node_resources.refusal(full, request) == nodes.TOO_MANY_PODS
    assert node_resources.refusal(full.changed_by(request, -1), request) is None
    assert nodes.PLUGINS[nodes.TOO_MANY_PODS] == nodes.NODE_RESOURCES_FIT


# -------------------------------------------------------------------------- groups of nodes


def test_nodes_with_fewer_requests_come_first_and_equals_by_name() -> None:
    assigned = assigned_pods.AssignedPods()
    for name in ("worker-10", "worker-2", "worker-1"):
        assigned.groups.on_add(node(name), initial=True)
    request = node_resources.of_pod(pod())
    assert names(assigned.groups.best_first(request)) == ["worker-1", "worker-2", "worker-10"]
    assigned.assume(pod("a"), "worker-1")
    assert names(assigned.groups.best_first(request)) == ["worker-2", "worker-10", "worker-1"]
    assigned.forget(pod("a"))
    assert names(assigned.groups.best_first(request)) == ["worker-1", "worker-2", "worker-10"]


def test_a_pod_counts_once_and_until_it_ends() -> None:
    assigned = assigned_pods.AssignedPods()
    assigned.groups.on_add(node("n", pods="1"), initial=True)
    request, known = node_resources.of_pod(pod()), node("n")
    assigned.assume(pod("a"), "n")
    bound = pod("a", nodeName="n")
    assigned.on_add(bound, initial=False)
    assigned.on_update(bound, bound)
    assert assigned.refusal(known, request) == nodes.TOO_MANY_PODS
    assigned.on_update(bound, bound | {"status": {"phase": "Succeeded"}})
    assert assigned.refusal(known, request) is None


def test_pods_that_come_before_their_node_count() -> None:
    assigned = assigned_pods.AssignedPods()
    assigned.on_add(pod("a", nodeName="n"), initial=True)
    assigned.groups.on_add(node("n", pods="1"), initial=True)
    assert assigned.refusal(node("n"), node_resources.of_pod(pod())) == nodes.TOO_MANY_PODS


def test_a_pod_that_leaves_helps_only_if_another_lacked_room() -> None:
    freed: list[None] = []
    assigned = assigned_pods.AssignedPods(lambda: freed.append(None))
    assigned.groups.on_add(node("n", pods="2"), initial=True)
    for name in "ab":
        assigned.assume(pod(name), "n")
    assigned.forget(pod("a"))
    assert freed == []
    assigned.assume(pod("a"), "n")
    assert assigned.refusal(node("n"), node_resources.of_pod(pod())) == nodes.TOO_MANY_PODS
    assigned.on_delete(pod("a", nodeName="n"))
    assert len(freed) == 1


@pytest.mark.parametrize("seed", range(20))
def test_the_order_agrees_with_scoring_every_node(seed: int) -> None:
    """Nodes and pods come, change and go at random."""
    stream = random.Random(seed)
    assigned, known, placed = assigned_pods.AssignedPods(), {}, {}
    for step in range(300):
        name = f"worker-{stream.randrange(12)}"
        match stream.randrange(4):
            case 0:
                known[name] = node(name, stream.choice(["4", "8"]), stream.choice(["8Gi", "32Gi"]))
                assigned.groups.on_update({}, known[name])
            case 1 if name in known:
                assigned.groups.on_delete(known.pop(name))
            case 2:
                cpu = stream.choice(["100m", "1", "2"])
                placed[f"p{step}"] = pod(f"p{step}", container(cpu=cpu)), name
                assigned.assume(*placed[f"p{step}"])
            case 3 if placed:
                assigned.forget(placed.pop(stream.choice(sorted(placed)))[0])
        request = node_resources.of_pod(pod("new", container(cpu=stream.choice(["0", "500m"]))))
        expected = sorted(
            known.values(),
            key=lambda item: (
                -fresh_score(item, placed, request),
                nodes.natural_order(item["metadata"]["name"]),
            ),
        )
        assert names(assigned.groups.best_first(request)) == names(expected)


def fresh_score(
    item: Object, placed: dict[str, tuple[Object, str]], request: node_resources.PodRequest
) -> int:
    use = node_resources.of_node(item)
    for held, name in placed.values():
        if name == item["metadata"]["name"]:
            use = use.changed_by(node_resources.of_pod(held), 1)
    return node_resources.score(use, request)


def test_a_node_that_is_gone_is_neither_scored_nor_refused() -> None:
    groups, request = assigned_pods.NodeGroups(), node_resources.of_pod(pod())
    assert groups.score(node("n"), request) == 0
    assert groups.refusal(node("n"), request) is None


# ---------------------------------------------------------------------- queueing hints


@pytest.mark.parametrize(
    ("event", "helps"),
    [
        (cluster_events.ASSIGNED_POD_DELETED, True),
        (cluster_events.ClusterEvent("Node", cluster_events.ADD, None, node("n")), True),
        (
            cluster_events.ClusterEvent(
                "Node", cluster_events.ALLOCATABLE_CHANGED, node("n"), node("n", pods="9")
            ),
            True,
        ),
        (
            cluster_events.ClusterEvent(
                "Node", cluster_events.LABELS_CHANGED, node("n"), node("n")
            ),
            False,
        ),
        (cluster_events.ClusterEvent(cluster_events.SLICE, cluster_events.ADD, None, {}), False),
    ],
)
def test_which_events_help_a_pod_that_lacked_room(
    event: cluster_events.ClusterEvent, helps: bool
) -> None:
    hints = queueing_hints.QueueingHints(lambda _: None)
    hint = hints.of(pod(), [nodes.NODE_RESOURCES_FIT], event)
    assert hint.is_worth_trying == helps
