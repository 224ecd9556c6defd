"""Bad input to the scheduler: the owner of the pod is told why it waits, and all others are bound.

All inputs are in the cluster at once, with pods that need none of them. The API server accepts them
as one that is newer than this scheduler, or without validation, would.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from harness import clocks
from harness.apiserver.registry.strategies import generic
from harness.client import apis
from harness.subject.telemetry import pod_reports
from tests.support import api_objects, cases, local_servers, scheduler_worlds

Object = dict[str, Any]
ORDINARY, FREE = 5, 4
"""Pods that need one device each, and devices that nothing takes."""
INPUTS = cases.read(__file__, "inputs")


class Cluster(scheduler_worlds.World):
    """A scheduler with all inputs."""

    def __init__(self) -> None:
        server, devices = local_servers.LocalServer(), range(ORDINARY + FREE)
        super().__init__(
            server,
            None,
            api_objects.slice_of(*(f"d{number}" for number in devices)),
            reports=pod_reports.PodReports(apis.Api(server)),
            binders=2,
            backoff_initial_s=0.05,
            backoff_max_s=0.2,
            filter_timeout_s=0.1,
        )

    def create_all(self) -> None:
        self._create_devices()
        for index, (*_, asked) in enumerate(INPUTS):
            devices = asked if isinstance(asked, dict) else {"requests": asked}
            if asked is not None:
                claim = api_objects.claim(f"c-{index}")
                self.put(apis.CLAIMS, {**claim, "spec": {"devices": devices}})
            self.put(apis.PODS, api_objects.pod(f"bad-{index}", use=[f"c-{index}"]))
        for index in range(ORDINARY):
            self.add_pod(f"good-{index}")

    def _create_devices(self) -> None:
        self.put(apis.NODES, api_objects.node("worker-1", unschedulable=True))
        only = api_objects.device_class('device.driver == "gpu.example.com"')
        known = self.api.get(apis.DEVICE_CLASSES, only["metadata"]["name"])
        self.api.update(apis.DEVICE_CLASSES, {**known, "spec": only["spec"]})
        self.put(apis.DEVICE_CLASSES, api_objects.device_class("device.", name="torn"))
        half = api_objects.slice_of("a", name="half", count=2)
        double = api_objects.slice_of("same", "same", name="double")
        many = api_objects.slice_of(*(f"m{number}" for number in range(60)), name="many")
        for item, name in ((half, "halves"), (double, "doubles"), (many, "many")):
            driver = f"{name}.example.com"
            item["spec"]["driver"] = driver
            self.put(apis.SLICES, item)
            chosen = api_objects.device_class(f'device.driver == "{driver}"', name=name)
            self.put(apis.DEVICE_CLASSES, chosen)
        self.put(apis.SLICES, _slice_of_nodes("rank", "About"))
        self.put(apis.SLICES, _slice_of_nodes("kubernetes.io/hostname", "Gt"))

    def condition(self, name: str) -> Object:
        return api_objects.scheduled_condition(self.pod(name))


def _slice_of_nodes(key: str, operator: str) -> Object:
    """A slice whose nodes are chosen by an operator that is unknown, or that fails for a label."""
    term = {"key": key, "operator": operator, "values": ["5"]}
    selector = {"nodeSelectorTerms": [{"matchExpressions": [term]}]}
    return api_objects.slice_of("far", pool=f"rack-{operator.lower()}", nodeSelector=selector)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("errors", "update_errors"):
            patch.setattr(generic.Strategy, name, lambda *_: ())
        patch.setattr(pod_reports, "HOLD_S", 0.0)
        patch.setattr(pod_reports, "WRITES_PER_S", 1000.0)
        made = Cluster()
        made.create_all()
        made.scheduler.start()
        yield made
        made.scheduler.stop()
        made.server.close()


def test_ordinary_pods_are_bound(cluster: Cluster) -> None:
    cluster.wait_bound(*(f"good-{index}" for index in range(ORDINARY)))


@pytest.mark.parametrize("number", range(len(INPUTS)), ids=[title for title, *_ in INPUTS])
def test_the_owner_is_told(cluster: Cluster, number: int) -> None:
    _, reason, words, _ = INPUTS[number]
    pod = f"bad-{number}"
    clocks.wait_until(
        lambda: words in cluster.condition(pod).get("message", ""),
        timeout_s=5,
        why=f"the words {words!r}, got {cluster.condition(pod)}",
    )
    condition = cluster.condition(pod)
    assert (condition["status"], condition["reason"]) == ("False", reason)
    assert "nodeName" not in cluster.pod(pod)["spec"]


@pytest.mark.parametrize(
    ("request_line", "resource", "name"),
    [
        (("PUT", "/resourceclaims/leaving-0"), apis.CLAIMS, "leaving-0"),
        (("PUT", "/resourceclaims/leaving-1/status"), apis.CLAIMS, "leaving-1"),
        (("POST", "/pods/leaving-2/binding"), apis.PODS, "leaving-2"),
    ],
)
def test_an_object_that_goes_meanwhile_stops_its_pod_only(
    cluster: Cluster, request_line: tuple[str, str], resource: apis.Resource, name: str
) -> None:
    def leave() -> None:
        if resource is apis.CLAIMS:
            claim = cluster.api.get(apis.CLAIMS, name, namespace="default")
            free = {**claim, "metadata": {**claim["metadata"], "finalizers": []}}
            cluster.api.update(apis.CLAIMS, free)
        cluster.api.delete(resource, name, namespace="default", grace_period_s=0)

    cluster.server.before(*request_line, leave)
    for one in (name, f"behind-{name}"):
        cluster.put(apis.CLAIMS, api_objects.claim(one))
        cluster.put(apis.PODS, api_objects.pod(one, use=[one]))
    cluster.wait_bound(f"behind-{name}")
    if resource is apis.CLAIMS:
        assert cluster.node_of(name) is None
        words = f"resourceclaim '{name}' not found"
        cluster.wait(lambda: words in cluster.condition(name).get("message", ""), words)
