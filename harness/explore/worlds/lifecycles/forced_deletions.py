"""A pod is deleted by force: its claim is free in the API while its containers still run."""

import dataclasses
import functools
from collections.abc import Iterable
from typing import Any

from harness import concurrency
from harness.apiserver.scheme import resources
from harness.apiserver.storage import watch_cache
from harness.client import apis
from harness.cluster.dra import node_claims
from harness.cluster.fake_nodes import kubelets
from harness.explore.worlds import small_world, world_fixtures, world_specs
from harness.explore.worlds.oracles import device_exclusivity, preparations, protocol
from harness.model.objects import Object
from harness.scenario import driver_specs

TERMINATION_S, UNPREPARE_S = 0.2, 0.01
"""How long containers run on, and how long an unpreparation takes, in seconds."""
WORKERS = 2
"""Number of the kubelets' workers."""


class ForcedDeletion(small_world.SmallWorld):
    """Two pods with the same device, one after the other, and the kubelet of their node.

    The first one is deleted by force as soon as it runs. Then its claim loses the device, and that
    of the second pod gets it, as claim controller and scheduler would have it.
    """

    schedulers_named = ()

    def __init__(self, *args: Any, is_exclusive: bool = True, **options: Any) -> None:
        """`is_exclusive`: the driver refuses a device that another claim holds prepared."""
        self._is_exclusive = is_exclusive
        self._judge = preparations.Preparations(unprepare_s=UNPREPARE_S)
        self._running: dict[str, concurrency.Event] = {}
        super().__init__(*args, **options)

    def oracles(self) -> Iterable[protocol.Oracle]:
        """Return those of devices and of the node."""
        return device_exclusivity.DeviceExclusivity(), self._judge

    def objects(self) -> Iterable[Object]:
        """Return a node, two pods, and their claims."""
        yield world_fixtures.node()
        for number in (1, 2):
            yield world_fixtures.claim(f"claim-{number}")
            yield world_fixtures.pod(f"pod-{number}", f"claim-{number}")

    def start(self) -> None:
        """Start the kubelet."""
        concurrency.spawn("start", self._start_kubelet)
        self.runtime.run(explore=False)

    def _start_kubelet(self) -> None:
        driver = preparations.observed(self.parts.kubelet.driver, self._judge)
        options = node_claims.NodeClaimsOptions(
            driver=driver_specs.DriverSpec(
                exclusivity=self._is_exclusive,
                termination_s=TERMINATION_S,
                unprepare=driver_specs.CallSpec(delay_s=UNPREPARE_S),
            ),
            parts=dataclasses.replace(self.parts.kubelet, driver=driver),
        )
        api = apis.Api(self.server)
        kubelets.Kubelets(
            api,
            namespace=None,
            now=lambda: world_fixtures.NOW,
            claims=node_claims.NodeClaims(api, options),
            workers=WORKERS,
        ).start()

    def begin(self) -> None:
        """Start the control plane and the user."""
        self._running["pod-1"] = concurrency.Event("running")
        self.store.listen(self._on_commit)
        concurrency.spawn("control-plane", self._control)

    def _on_commit(self, commit: watch_cache.Commit) -> None:
        event = self._running.get(commit.object.name)
        if event is not None and b'"phase":"Running"' in commit.object.data:
            event.set()

    def _control(self) -> None:
        """Let the first pod run, delete it by force, and give its device to the second one."""
        self._bind(1)
        self._running["pod-1"].wait()
        self.api.delete(apis.PODS, "pod-1", namespace=world_fixtures.NAMESPACE, grace_period_s=0)
        freed = self.api.get(apis.CLAIMS, "claim-1", namespace=world_fixtures.NAMESPACE)
        self.api.update_status(apis.CLAIMS, {**freed, "status": {}})
        self._bind(2)

    def _bind(self, number: int) -> None:
        namespace = world_fixtures.NAMESPACE
        pod = self.api.get(apis.PODS, f"pod-{number}", namespace=namespace)
        claim = self.api.get(apis.CLAIMS, f"claim-{number}", namespace=namespace)
        user = {"resource": "pods", "name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"]}
        status = world_fixtures.allocated("device-0", [user])
        self.api.update_status(apis.CLAIMS, {**claim, "status": status})
        self.api.bind(pod, world_fixtures.NODE)

    def unfinished(self) -> str | None:
        """Return whether the second pod does not run in the end."""
        pod = self.store.get(resources.PODS, world_fixtures.NAMESPACE, "pod-2").document()
        if pod.get("status", {}).get("phase") != "Running":
            return "stuck: pod-2 does not run"
        return None


WORLDS: dict[str, world_specs.WorldSpec] = {
    "forced-deletion": world_specs.spec(
        ForcedDeletion,
        "a pod is deleted by force and runs on, while another claim gets its device",
        private_locks=world_specs.contended(".objects"),
    ),
    "forced-deletion-unguarded": world_specs.spec(
        functools.partial(ForcedDeletion, is_exclusive=False),
        "kubernetes#141471: the same with a driver that does not refuse a device in use",
        private_locks=world_specs.contended(".objects"),
    ),
}
