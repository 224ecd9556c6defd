"""Inputs that once ended scheduling for all pods: now only the pods that need them have to wait.

One claim asks for eight of sixty devices, then for one that no device matches: a search of all
choices would not end. One ResourceSlice is for nodes whose name is greater than a number.
"""

import contextlib
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from harness import clocks, processes
from harness.client import apis, transports
from tests.e2e import running
from tests.support import api_objects

ORDINARY, NODES, DEVICES = 100, 2, 60
NEVER = [{"cel": {"expression": "device.driver == 'another.example'"}}]
WEDGED = api_objects.claim(
    "wedged",
    requests=[
        api_objects.exactly("any", count=8),
        api_objects.exactly("none", selectors=NEVER),
    ],
)
GREATER = {
    "nodeSelectorTerms": [
        {"matchExpressions": [{"key": "rank", "operator": "Gt", "values": ["5"]}]}
    ]
}
OFFERED = {"status": {"allocatable": {"cpu": "64", "memory": "256Gi", "pods": "110"}}}
WORDS = (
    f"0/{NODES} nodes are available: {NODES} cannot allocate all claims. still not schedulable, "
    f"preemption: 0/{NODES} nodes are available: {NODES} Preemption is not helpful for scheduling."
)


class Cluster:
    """An API server and a scheduler as processes, with the two inputs and ordinary pods."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.kubeconfig = folder, folder / "kubeconfig"
        plain = folder / "plain"
        self.server = self._start(
            "apiserver", "--kubeconfig", self.kubeconfig, "--set", f"plain_kubeconfig={plain}"
        )
        self.transport = transports.connect(plain)
        self.api = apis.Api(self.transport)
        self._create_inputs()
        self.scheduler = self._start("scheduler", "--kubeconfig", plain)

    def _start(self, name: str, *arguments: str | pathlib.Path) -> processes.Process:
        ready = self.folder / f"{name}-ready"
        argv = processes.command("part", name, *map(str, arguments))
        log = self.folder / f"{name}.log"
        return processes.start_ready(name, argv, log=log, ready=ready, timeout_s=running.TIMEOUT_S)

    def _create_inputs(self) -> None:
        self.put(apis.DEVICE_CLASSES, api_objects.device_class())
        for index in range(NODES):
            node = f"worker-{index}"
            self.put(apis.NODES, api_objects.node(node, labels={"rank": "first"}) | OFFERED)
            names = [f"d{number}" for number in range(DEVICES)]
            self.put(apis.SLICES, api_objects.slice_of(*names, pool=node))
        self.put(apis.SLICES, api_objects.slice_of("far", pool="rack", nodeSelector=GREATER))
        self.put(apis.CLAIMS, WEDGED)
        self.put(apis.PODS, api_objects.pod("wedged", use=["wedged"]))

    def put(self, resource: apis.Resource, obj: Any) -> None:
        self.api.create(resource, obj, namespace="default" if resource.namespaced else None)

    def create_ordinary_pods(self) -> None:
        for number in range(ORDINARY):
            self.put(apis.CLAIMS, api_objects.claim(f"c-{number}"))
            self.put(apis.PODS, api_objects.pod(f"p-{number}", use=[f"c-{number}"]))

    def bound(self) -> list[str]:
        pods = self.api.list(apis.PODS, namespace="default").items
        return [pod["metadata"]["name"] for pod in pods if pod["spec"].get("nodeName")]

    def condition(self) -> Any:
        status = self.api.get(apis.PODS, "wedged", namespace="default").get("status", {})
        return next((item for item in status.get("conditions", ())), None)

    def is_alive(self) -> bool:
        """As `kill -0` says."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.scheduler.pid, 0)
            return self.scheduler.poll() is None
        return False


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    yield made
    made.transport.close()
    made.scheduler.kill()
    made.server.kill()


def test_ordinary_pods_are_bound_and_the_other_one_is_told_why(cluster: Cluster) -> None:
    cluster.create_ordinary_pods()
    clocks.wait_until(
        lambda: len(cluster.bound()) == ORDINARY,
        timeout_s=running.TIMEOUT_S,
        why="the ordinary pods to be bound",
    )
    clocks.wait_until(lambda: cluster.condition(), timeout_s=running.TIMEOUT_S, why="the condition")
    condition = cluster.condition()
    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert (condition["reason"], condition["message"]) == ("Unschedulable", WORDS)
    assert "wedged" not in cluster.bound()
