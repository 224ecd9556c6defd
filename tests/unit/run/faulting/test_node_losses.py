"""A node that is lost, on a real embedded API server: its pods go, and it comes back or not."""

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from harness import concurrency
from harness.client import apis, transports
from harness.cluster import embedded_cluster
from harness.cluster.fake_nodes import fake_world
from harness.cluster.interfaces import Capabilities
from harness.history import records
from harness.run.faulting import fault_journal, node_losses
from harness.scenario import pool_specs
from tests.support import api_objects
from tests.unit.run.faulting import fake_parts

NAMESPACE = "flake-hunt-losing"
POOLS = pool_specs.PoolsSpec(nodes=2, devices_per_node=1)
LOST, OTHER = "worker-1", "worker-0"


class Ending:
    """A fault that lasts until its work is done."""

    is_abandoned = False

    def __init__(self) -> None:
        self.over, self.load_begun = concurrency.Event("over"), concurrency.Event("begun")


class World:
    """A cluster with a pod on each node."""

    def __init__(self, api: apis.Api, folder: pathlib.Path) -> None:
        self.api, self.path = api, folder / "faults.jsonl"
        self.processes, self.ending = fake_parts.FakeProcesses(), Ending()
        for node in (LOST, OTHER):
            pod = api_objects.pod(f"on-{node}")
            pod["metadata"]["namespace"] = NAMESPACE
            api.create(apis.PODS, pod, namespace=NAMESPACE)
            api.bind(api.get(apis.PODS, f"on-{node}", namespace=NAMESPACE), node)

    def lose(self, **parameters: Any) -> records.FaultApplied:
        fault = fake_parts.fault("lost", "lose-node", **parameters)
        journal = fault_journal.FaultJournal(self.path, run_id="r")
        losing = node_losses.LostNode(
            fault,
            journal,
            self.processes,
            concurrency.lock("guard"),
            api=apis.Api(self.api.transport),
            namespace=NAMESPACE,
            node=LOST,
        )
        losing.begin()
        losing.last(self.ending)
        self.heal = losing.heal
        journal.close()
        [applied], _ = fake_parts.read(self.path)
        return applied

    def pods(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.api.list(apis.PODS).items]

    def nodes(self) -> dict[str, Any]:
        return {node["metadata"]["name"]: node for node in self.api.list(apis.NODES).items}

    def ready(self) -> str:
        conditions = self.nodes()[LOST]["status"]["conditions"]
        return next(item["status"] for item in conditions if item["type"] == "Ready")


@pytest.fixture
def world(tmp_path: pathlib.Path) -> Iterator[World]:
    cluster = embedded_cluster.up("losing", tmp_path)
    transport = transports.connect(cluster.kubeconfig)
    api = apis.Api(transport)
    fake_world.publish(api, POOLS, namespace=NAMESPACE, run_id="losing", on=Capabilities())
    yield World(api, tmp_path)
    transport.close()
    cluster.down()


def test_a_node_comes_back_without_its_pods(world: World) -> None:
    applied = world.lose(down_s=0.0)
    assert world.processes.calls == ["kill scheduler for lost", "start scheduler"]
    assert world.pods() == [f"on-{OTHER}"]
    assert world.ready() == "True"
    assert not world.nodes()[LOST]["spec"].get("taints")
    assert applied.detail == "worker-1 was lost and came back"


def test_a_lost_node_is_tainted_until_it_is_healed(world: World) -> None:
    world.ending.is_abandoned = True  # nothing is started again
    world.lose(down_s=0.0)
    taints = {(item["key"], item["effect"]) for item in world.nodes()[LOST]["spec"]["taints"]}
    assert taints == {(node_losses.TAINT, "NoSchedule"), (node_losses.TAINT, "NoExecute")}
    assert world.ready() == "Unknown"
    world.ending.is_abandoned = False
    world.heal(world.ending)
    assert world.processes.calls[-1] == "start scheduler"
    assert world.ready() == "True"


def test_a_node_that_never_comes_back_is_removed_with_its_slices(world: World) -> None:
    concurrency.spawn("over", lambda: (world.ending.over.wait(0.3), world.ending.over.set()))
    applied = world.lose(comes_back=False)
    assert list(world.nodes()) == [OTHER]
    slices = [item["spec"]["nodeName"] for item in world.api.list(apis.SLICES).items]
    assert slices == [OTHER]
    assert world.pods() == [f"on-{OTHER}"]
    assert world.processes.calls == ["kill scheduler for lost"]
    assert applied.detail == "worker-1 was lost and was removed"
