"""Kubelets: a pod runs when its claims are allocated and reserved for it, and not before; a deletion is finished."""

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from harness import clocks, processes
from harness.client import apis, transports
from harness.cluster import embedded, fakes, kubelets, pools
from harness.history import records
from harness.scenario import specs

TIMEOUT_S = 30
NAMESPACE = "default"
# A worker's thread takes its connection with it when it ends, which is what a short-lived test calls a leak.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")


class World:
    """Pods and claims of one test."""

    def __init__(self, api: apis.Api) -> None:
        self.api = api

    def pod(
        self, name: str, *claims: dict[str, str], bound: bool = True, node: str = "worker-0"
    ) -> Any:
        spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": list(claims)}
        made = self.api.create(
            apis.PODS, {"metadata": {"name": name}, "spec": spec}, namespace=NAMESPACE
        )
        if bound:
            self.api.bind(made, node)
        return made

    def claim(self, name: str) -> Any:
        request = {"name": "gpu", "exactly": {"deviceClassName": "gpu.example"}}
        spec = {"devices": {"requests": [request]}}
        return self.api.create(
            apis.CLAIMS, {"metadata": {"name": name}, "spec": spec}, namespace=NAMESPACE
        )

    def allocate(self, name: str, *pods: Any) -> None:
        result = {"request": "gpu", "driver": "gpu.example", "pool": "n", "device": "d"}
        entries = [
            {"resource": "pods", "name": p["metadata"]["name"], "uid": p["metadata"]["uid"]}
            for p in pods
        ]
        status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": entries}
        self.api.patch(
            apis.CLAIMS, name, {"status": status}, namespace=NAMESPACE, subresource="status"
        )

    def phase(self, name: str) -> str:
        return str(self.api.get(apis.PODS, name, namespace=NAMESPACE)["status"]["phase"])

    def wait_running(self, name: str) -> None:
        clocks.wait_until(
            lambda: self.phase(name) == "Running", timeout_s=TIMEOUT_S, why=f"{name} to run"
        )

    def require_pending(self, name: str) -> None:
        """What came later was looked at, and this one still waits."""
        self.later = getattr(self, "later", 0) + 1
        for number in range(kubelets.WORKERS):
            self.pod(f"later-{self.later}-{number}")
        for number in range(kubelets.WORKERS):
            self.wait_running(f"later-{self.later}-{number}")
        assert self.phase(name) == "Pending"

    def clean(self) -> None:
        for resource in (apis.PODS, apis.CLAIMS):
            for item in self.api.list(resource, namespace=NAMESPACE).items:
                name = item["metadata"]["name"]
                self.api.delete(resource, name, namespace=NAMESPACE, grace_period_s=0)


@pytest.fixture
def world(cluster: embedded.EmbeddedCluster, api: apis.Api) -> Iterator[World]:
    """With kubelets that play."""
    own = apis.Api(transports.connect(cluster.kubeconfig))
    own.create(apis.NODES, fakes.node_object("worker-0", labels={}))
    playing = kubelets.Kubelets(own, namespace=NAMESPACE)
    playing.start()
    made = World(api)
    yield made
    playing.stop()
    own.transport.close()
    made.clean()
    api.delete(apis.NODES, "worker-0")


def named(claim: str) -> dict[str, str]:
    return {"name": "gpu", "resourceClaimName": claim}


GENERATED = {"name": "gpu", "resourceClaimTemplateName": "t"}


def test_pods_on_other_nodes_are_left_to_others(world: World) -> None:
    elsewhere = fakes.node_object("elsewhere", labels={})
    del elsewhere["metadata"]["annotations"]
    world.api.create(apis.NODES, elsewhere)
    world.pod("on-a-real-node", node="elsewhere")
    world.pod("on-no-node", node="nowhere")
    world.require_pending("on-a-real-node")
    assert world.phase("on-no-node") == "Pending"
    world.api.delete(apis.PODS, "on-a-real-node", namespace=NAMESPACE)
    world.require_pending("on-a-real-node")  # who is deleted there waits for its own kubelet
    world.api.delete(apis.NODES, "elsewhere")


def test_a_pod_runs_once_its_node_is_known(world: World) -> None:
    world.pod("early", node="late")
    world.require_pending("early")
    world.api.create(apis.NODES, fakes.node_object("late", labels={}))
    world.wait_running("early")
    world.api.delete(apis.NODES, "late")


def test_a_bound_pod_without_claims_runs(world: World) -> None:
    world.pod("p")
    world.wait_running("p")
    status = world.api.get(apis.PODS, "p", namespace=NAMESPACE)["status"]
    ready = {c["type"]: c["status"] for c in status["conditions"]}
    assert ready["Ready"] == ready["PodScheduled"] == "True"
    assert status["podIP"]


def test_a_pod_without_a_node_does_not_run(world: World) -> None:
    made = world.pod("p", bound=False)
    world.require_pending("p")
    world.api.bind(made, "worker-0")
    world.wait_running("p")


def test_a_pod_waits_until_its_claim_is_allocated_and_reserved_for_it(world: World) -> None:
    other = world.pod("other", bound=False)
    made = world.pod("p", named("c"))
    world.require_pending("p")  # there is no claim
    world.claim("c")
    world.require_pending("p")  # it is not allocated
    world.allocate("c")
    world.require_pending("p")  # it is reserved for nobody
    world.allocate("c", other)
    world.require_pending("p")  # it is reserved for another pod
    world.allocate("c", other, made)
    world.wait_running("p")


def test_a_pod_waits_for_all_of_its_claims(world: World) -> None:
    world.claim("c1")
    world.claim("c2")
    second = {"name": "nic", "resourceClaimName": "c2"}
    made = world.pod("p", named("c1"), second)
    world.allocate("c1", made)
    world.require_pending("p")
    world.allocate("c2", made)
    world.wait_running("p")


def test_two_pods_may_wait_for_one_claim(world: World) -> None:
    world.claim("c")
    pods = [world.pod(f"p{number}", named("c")) for number in range(3)]
    world.require_pending("p0")
    world.allocate("c", *pods)
    for number in range(3):
        world.wait_running(f"p{number}")


def test_a_generated_claim_is_found_by_the_pods_status(world: World) -> None:
    made = world.pod("p", GENERATED)
    world.require_pending("p")
    world.claim("p-gpu-xyz")
    world.allocate("p-gpu-xyz", made)
    world.require_pending("p")
    entries = [{"name": "gpu", "resourceClaimName": "p-gpu-xyz"}]
    world.api.patch(
        apis.PODS,
        "p",
        {"status": {"resourceClaimStatuses": entries}},
        namespace=NAMESPACE,
        subresource="status",
    )
    world.wait_running("p")


def test_whether_another_claim_has_the_device_is_not_asked(world: World) -> None:
    """A kubelet does not know, and the judge must not depend on it."""
    for name in ("a", "b"):
        world.claim(name)
        world.allocate(name, world.pod(f"p-{name}", named(name)))
    world.wait_running("p-a")
    world.wait_running("p-b")


@pytest.mark.parametrize("claims", [(), (named("missing"),)], ids=["running", "pending"])
def test_a_deletion_is_finished(world: World, claims: tuple[dict[str, str], ...]) -> None:
    world.pod("p", *claims)
    if not claims:
        world.wait_running("p")
    assert world.api.delete(apis.PODS, "p", namespace=NAMESPACE)["metadata"]["deletionTimestamp"]
    clocks.wait_until(lambda: is_gone(world.api, "p"), timeout_s=TIMEOUT_S, why="p to be gone")


def is_gone(api: apis.Api, name: str) -> bool:
    try:
        api.get(apis.PODS, name, namespace=NAMESPACE)
    except apis.ApiError as error:
        return error.is_not_found
    return False


@pytest.mark.parametrize(
    ("claims", "statuses", "expected"),
    [
        ([], None, []),
        ([named("c")], None, ["c"]),
        ([GENERATED], None, ["(not created yet)"]),
        ([GENERATED], [], ["(not created yet)"]),
        ([GENERATED], [{"name": "gpu", "resourceClaimName": "g"}], ["g"]),
        ([GENERATED], [{"name": "gpu"}], []),  # the controller found that none is needed
        ([named("c"), {**GENERATED, "name": "nic"}], [{"name": "nic", "resourceClaimName": "g"}], ["c", "g"]),
    ],
)  # fmt: skip
def test_the_claims_of_a_pod(claims: Any, statuses: Any, expected: list[str]) -> None:
    pod = {"spec": {"resourceClaims": claims}, "status": {"resourceClaimStatuses": statuses}}
    assert kubelets.claim_names(pod) == expected


def test_the_process_keeps_nodes_ready_and_ends_in_order(
    cluster: embedded.EmbeddedCluster, api: apis.Api, tmp_path: pathlib.Path
) -> None:
    made = pools.publish(api, specs.PoolsSpec(nodes=2), namespace="run", run_id="r")
    operations = tmp_path / "operations-kubelet.jsonl"
    options = ("--namespace", "run", "--operations", str(operations), "--run-id", "r")
    process = processes.start_ready(
        "kubelet",
        processes.command("kubelet", "--kubeconfig", str(cluster.kubeconfig), *options),
        log=tmp_path / "kubelet.log",
        ready=tmp_path / "ready",
        timeout_s=TIMEOUT_S,
    )
    try:
        clocks.wait_until(
            lambda: (
                {item["metadata"]["name"] for item in api.list(apis.LEASES).items}
                >= {"worker-0", "worker-1"}
            ),
            timeout_s=TIMEOUT_S,
            why="the leases of both nodes",
        )
        containers = [{"name": "c", "image": "i"}]
        pod = {"metadata": {"name": "p"}, "spec": {"containers": containers}}
        api.bind(api.create(apis.PODS, pod, namespace="run"), "worker-0")
        clocks.wait_until(
            lambda: api.get(apis.PODS, "p", namespace="run")["status"]["phase"] == "Running",
            timeout_s=TIMEOUT_S,
            why="the pod to run",
        )
        assert process.stop(timeout_s=TIMEOUT_S) == 0
    finally:
        process.kill()
        pools.remove(api, made)
    journal = records.read(operations)
    assert journal.trailer is not None
    invocation, completion = journal.records
    assert isinstance(invocation, records.Invocation)
    assert isinstance(completion, records.Completion)
    assert (invocation.verb, invocation.resource) == ("patch", "pods/status")
    assert completion.outcome == "ok"
