"""A scheduler with all its threads, against the real store."""

from collections.abc import Callable
from typing import Any

from harness import clocks
from harness.client import apis
from harness.subject.scheduling import schedulers
from harness.subject.telemetry import pod_reports
from tests.support import api_objects, local_servers

Object = dict[str, Any]
TIMEOUT_S = 30.0


class World:
    """A server with a class, a node and its slice, and a scheduler, which is not started."""

    def __init__(
        self,
        server: local_servers.LocalServer,
        parts: schedulers.SchedulerParts | None = None,
        *slices: Object,
        reports: pod_reports.PodReports | None = None,
        **options: Any,
    ) -> None:
        self.server, self.api = server, apis.Api(server)
        self.put(apis.DEVICE_CLASSES, api_objects.device_class())
        self.put(apis.NODES, api_objects.node())
        for piece in slices or [api_objects.slice_of("a", "b")]:
            self.put(apis.SLICES, piece)
        quick = {"binders": 4, "backoff_initial_s": 0.001, "backoff_max_s": 0.002}
        self.scheduler = schedulers.Scheduler(
            self.api, schedulers.SchedulerOptions(**{**quick, **options}), parts, reports
        )

    def put(self, resource: apis.Resource, obj: Object) -> Object:
        return local_servers.put(self.server, resource, obj)

    def add_pod(self, name: str, **claim: Any) -> Object:
        """Create a pod with a claim of its own."""
        self.put(apis.CLAIMS, api_objects.claim(f"of-{name}", **claim))
        return self.put(apis.PODS, api_objects.pod(name, use=[f"of-{name}"]))

    def pod(self, name: str) -> Object:
        return self.api.get(apis.PODS, name, namespace="default")

    def claim(self, name: str) -> Object:
        return self.api.get(apis.CLAIMS, name, namespace="default")

    def node_of(self, pod: str) -> str | None:
        node: str | None = self.pod(pod)["spec"].get("nodeName")
        return node

    def wait(self, condition: Callable[[], object], why: str) -> None:
        clocks.wait_until(condition, timeout_s=TIMEOUT_S, why=why, interval_s=0.002)

    def wait_bound(self, *pods: str) -> None:
        self.wait(lambda: all(map(self.node_of, pods)), f"{pods} to be bound")
