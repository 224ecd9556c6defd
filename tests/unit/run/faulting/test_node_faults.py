"""A node that is lost, or rebooted: its pods go, and it comes back or not."""

import pathlib
from typing import Any

import pytest

from harness import clocks, concurrency
from harness.client import apis
from harness.cluster.dra import claim_infos
from harness.cluster.fake_nodes import fake_world
from harness.cluster.interfaces import Capabilities
from harness.cluster.kubelet_api import preparations
from harness.history import records
from harness.run.faulting import injecting, node_faults
from harness.scenario import pool_specs
from tests.support import api_objects, local_servers
from tests.unit.run.faulting import fake_parts

NAMESPACE = "ns"
POOLS = pool_specs.PoolsSpec(nodes=2, devices_per_node=1)
LOST, OTHER = "worker-1", "worker-0"


class World:
    """A cluster with a pod on each node."""

    def __init__(self, api: apis.Api, folder: pathlib.Path) -> None:
        self.api, self.folder = api, folder
        self.processes, self.ending = fake_parts.FakeProcesses(), injecting.Ending()
        for node in (LOST, OTHER):
            pod = api_objects.pod(f"on-{node}")
            pod["metadata"]["namespace"] = NAMESPACE
            api.create(apis.PODS, pod, namespace=NAMESPACE)
            api.bind(api.get(apis.PODS, f"on-{node}", namespace=NAMESPACE), node)

    def lose(self, **parameters: Any) -> records.FaultApplied:
        fault = fake_parts.fault("lost", "lose-node", **parameters)
        stage = fake_parts.stage(self.folder, self.processes, api=self.api)
        (applied,), window = fake_parts.injected(stage, fault, self.ending)
        assert not window.error
        return applied

    def pods(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.api.list(apis.PODS).items]

    def nodes(self) -> dict[str, Any]:
        return {node["metadata"]["name"]: node for node in self.api.list(apis.NODES).items}

    def ready(self) -> str:
        conditions = self.nodes()[LOST]["status"]["conditions"]
        return next(item["status"] for item in conditions if item["type"] == "Ready")


@pytest.fixture
def world(tmp_path: pathlib.Path) -> World:
    api = apis.Api(local_servers.LocalServer())
    fake_world.publish(api, POOLS, namespace=NAMESPACE, run_id="r", on=Capabilities())
    return World(api, tmp_path)


def test_a_node_comes_back_without_its_pods(world: World) -> None:
    others = [{"key": "x/y", "effect": "NoSchedule"}]
    world.api.patch(apis.NODES, LOST, {"spec": {"taints": others}})
    applied = world.lose(down_s=0.0)
    assert world.processes.calls == ["kill scheduler for lost", "start scheduler"]
    assert world.pods() == [f"on-{OTHER}"]
    assert world.ready() == "True"
    assert world.nodes()[LOST]["spec"]["taints"] == others
    assert applied.detail == "worker-1 was lost and came back"


def test_a_lost_node_is_tainted_until_it_is_healed(world: World) -> None:
    losing = concurrency.spawn("losing", lambda: world.lose(down_s=60))
    clocks.wait_until(lambda: world.ready() == "Unknown", timeout_s=10, why="the node to be lost")
    clocks.wait_until(
        lambda: world.nodes()[LOST]["spec"].get("taints"), timeout_s=10, why="its taints"
    )
    taints = {(item["key"], item["effect"]) for item in world.nodes()[LOST]["spec"]["taints"]}
    assert taints == {(node_faults.TAINT, "NoSchedule"), (node_faults.TAINT, "NoExecute")}
    world.ending.is_abandoned = True  # the run ends at once: nothing is started again
    world.ending.over.set()
    losing.join(10)
    assert world.processes.calls == ["kill scheduler for lost"]
    assert world.ready() == "True"


def test_a_node_that_never_comes_back_is_removed_with_its_slices(world: World) -> None:
    concurrency.spawn("over", lambda: (world.ending.over.wait(0.3), world.ending.over.set()))
    applied = world.lose(comes_back=False, down_s=0.0)
    assert world.ending.over.is_set(), "its pods are deleted until then"
    assert list(world.nodes()) == [OTHER]
    slices = [item["spec"]["nodeName"] for item in world.api.list(apis.SLICES).items]
    assert slices == [OTHER]
    assert world.pods() == [f"on-{OTHER}"]
    assert world.processes.calls == ["kill scheduler for lost"]
    assert applied.detail == "worker-1 was lost and was removed"


PREPARED = claim_infos.ClaimInfo(
    namespace="ns",
    name="c",
    uid="u",
    devices=["gpu.example/p/d"],
    pods={"pod-uid": "pod"},
    prepared={"gpu.example": (preparations.PreparedDevice(pool="p", device="d"),)},
)


def reboot(
    folder: pathlib.Path, ending: injecting.Ending
) -> tuple[pathlib.Path, list[records.FaultApplied], list[str]]:
    """Reboot the node twice; return the state of its kubelet, the effects, and the calls."""
    processes = fake_parts.FakeProcesses()
    processes.drivers_of_lost_node = ("driver",)
    stage = fake_parts.stage(folder, processes)
    state = stage.directory.kubelet_state("scheduler")
    (state / "checkpoints").mkdir(parents=True)
    for node in ("worker-0", "worker-1"):
        claim_infos.Checkpoint(state / "checkpoints" / f"{node}.json").save([PREPARED])
    fault = fake_parts.fault("boot", "reboot-node", down_s=0.0, times=2, interval_s=0.01)
    applied, _ = fake_parts.injected(stage, fault, ending)
    return state, applied, processes.calls


def test_after_a_reboot_no_device_of_the_node_is_ready(tmp_path: pathlib.Path) -> None:
    state, applied, calls = reboot(tmp_path, injecting.Ending())
    for node, prepared in (("worker-0", PREPARED.prepared), ("worker-1", {})):
        [kept] = claim_infos.Checkpoint(state / "checkpoints" / f"{node}.json").load()
        assert (kept.pods, kept.prepared) == (PREPARED.pods, prepared)
    killed = ["kill scheduler for boot", "kill driver for boot"]
    assert calls == [*killed, "start driver", "start scheduler"] * 2
    assert [item.detail for item in applied] == ["worker-1 was rebooted"] * 2
    assert len((state / "boots/worker-1").read_text()) == 36


def test_a_run_that_ends_at_once_starts_nothing_again(tmp_path: pathlib.Path) -> None:
    ending = injecting.Ending()
    ending.is_abandoned = True
    _, _, calls = reboot(tmp_path, ending)
    assert "start scheduler" not in calls
