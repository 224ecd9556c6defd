"""Bad input to the scheduler: the owner of the pod is told why it waits, and all others are bound.

All inputs are in the cluster at once, with pods that need none of them. The API server accepts them
as one that is newer than this scheduler, or without validation, would.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

from harness import clocks
from harness.apiserver.registry.strategies import generic
from harness.client import apis
from harness.subject.telemetry import pod_reports
from tests.support import api_objects, local_servers, scheduler_worlds

Object = dict[str, Any]
ORDINARY, FREE = 5, 4
"""Pods that need one device each, and devices that nothing takes."""
UNSCHEDULABLE, ERROR = "Unschedulable", "SchedulerError"
WAITS = "0/2 nodes are available: "
FAILED = 'running "DynamicResources" filter plugin: '
FULL = f"{WAITS}1 cannot allocate all claims, 1 node(s) were unschedulable."


def selecting(expression: str) -> Object:
    return api_objects.exactly(selectors=[{"cel": {"expression": expression}}])


def asking(request: Object | None = None, **more: Any) -> Object:
    return {"devices": {"requests": [request or api_objects.exactly()], **more}}


def of_class(of: str, name: str = "r", **more: Any) -> Object:
    return {"name": name, "exactly": {"deviceClassName": of, **more}}


NEVER = of_class("many", "never", selectors=[{"cel": {"expression": "device.driver == 'none'"}}])


@dataclasses.dataclass(frozen=True)
class Bad:
    """A pod with one claim, and the words that its owner gets."""

    spec: Object | None
    """Of the claim; None: there is no such claim."""
    reason: str
    words: str


INPUTS = {
    "a claim that is not there": Bad(None, UNSCHEDULABLE, "resourceclaim 'c-0' not found"),
    "a class that is not there": Bad(
        asking(of_class("none")),
        UNSCHEDULABLE,
        f"{WAITS}request r: device class none does not exist.",
    ),
    "a request of an unknown kind": Bad(
        asking({"name": "r", "kindOfTomorrow": {"count": 1}}),
        UNSCHEDULABLE,
        f"{WAITS}resource claim default/c-2, request r: unknown request type.",
    ),
    "an unknown way of counting": Bad(
        asking(api_objects.exactly(allocationMode="Half")),
        UNSCHEDULABLE,
        f"{WAITS}request r: unsupported count mode Half.",
    ),
    "a selector of an unknown kind": Bad(
        asking(api_objects.exactly(selectors=[{"regexOfTomorrow": {}}])),
        UNSCHEDULABLE,
        f"{WAITS}request r: expected a CEL selector, got {{}}.",
    ),
    "a constraint of an unknown kind": Bad(
        asking(constraints=[{"requests": ["r"]}]),
        UNSCHEDULABLE,
        f"{WAITS}claim c-5: ",
    ),
    "a selector that does not compile": Bad(
        asking(selecting("device.driver ==")),
        ERROR,
        f"{FAILED}CEL selector 'device.driver ==' does not",
    ),
    "a selector that fails": Bad(
        asking(selecting('device.attributes["x.example"].size > 1')), ERROR, "no such key: size"
    ),
    "a selector that is no condition": Bad(
        asking(selecting("device.driver")), ERROR, "does not compile: must evaluate to bool"
    ),
    "a class whose selector does not compile": Bad(
        asking(of_class("torn")), ERROR, "CEL selector 'device.' does not compile"
    ),
    "more devices than there are": Bad(asking(api_objects.exactly(count=20)), UNSCHEDULABLE, FULL),
    "more devices than a claim may have": Bad(
        asking(api_objects.exactly(count=33)), ERROR, "exceeds the claim limit of 32"
    ),
    "all devices, and one pool of the node is invalid": Bad(
        asking(of_class("halves", allocationMode="All")), UNSCHEDULABLE, FULL
    ),
    "devices of an incomplete pool": Bad(asking(of_class("halves")), UNSCHEDULABLE, FULL),
    "devices of an invalid pool": Bad(asking(of_class("doubles")), UNSCHEDULABLE, FULL),
    "a search of all choices, which would not end": Bad(
        {"devices": {"requests": [of_class("many", count=8), NEVER]}},
        ERROR,
        f"{FAILED}node worker-0: timed out trying to allocate devices",
    ),
    "a capacity that no device has": Bad(
        asking(api_objects.exactly(capacity={"requests": {"memory": "1Gi"}})), UNSCHEDULABLE, FULL
    ),
}
"""Number i has the claim `c-i` and the pod `bad-i`."""


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
        for index, bad in enumerate(INPUTS.values()):
            claim = {**api_objects.claim(f"c-{index}"), "spec": bad.spec}
            if bad.spec is not None:
                self.put(apis.CLAIMS, claim)
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


@pytest.mark.parametrize("name", INPUTS)
def test_the_owner_is_told(cluster: Cluster, name: str) -> None:
    number, bad = list(INPUTS).index(name), INPUTS[name]
    pod = f"bad-{number}"
    clocks.wait_until(
        lambda: bad.words in cluster.condition(pod).get("message", ""),
        timeout_s=5,
        why=f"the words {bad.words!r}, got {cluster.condition(pod)}",
    )
    condition = cluster.condition(pod)
    assert (condition["status"], condition["reason"]) == ("False", bad.reason)
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
