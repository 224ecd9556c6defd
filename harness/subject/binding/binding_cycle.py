"""The binding cycle: threads that write the claims and the binding of pods with reserved devices.

After bindingCycle in pkg/scheduler/schedule_one.go, which has a goroutine for each pod.
"""

import dataclasses
from collections.abc import Callable

from harness import concurrency
from harness.client import apis, transports
from harness.subject import dynamic_resources, scheduling_attempts
from harness.subject.queueing import scheduling_queue
from harness.subject.telemetry import pod_reports


@dataclasses.dataclass(frozen=True, slots=True)
class Binding:
    """A pod with reserved devices, and the node it is to run on."""

    queued: scheduling_queue.QueuedPod
    attempt: scheduling_attempts.Attempt
    node_name: str


class Binders:
    """The binding threads, and the bindings that wait for one of them."""

    def __init__(
        self,
        api: apis.Api,
        plugin: dynamic_resources.DynamicResources,
        *,
        count: int,
        reports: pod_reports.PodReports,
        on_failure: Callable[[Binding, str], None],
    ) -> None:
        """`on_failure(binding, reason)` is called when the reservation has been undone."""
        self._api, self._plugin, self._count = api, plugin, count
        self._reports, self._on_failure = reports, on_failure
        self._bindings: concurrency.Queue[Binding] = concurrency.Queue("bindings")
        self.threads: list[concurrency.Thread] = []

    def start(self) -> None:
        """Start the threads."""
        for index in range(self._count):
            self.threads.append(concurrency.spawn(f"binder-{index}", self._bind_all))

    def put(self, binding: Binding) -> None:
        """Have a pod bound."""
        self._bindings.put(binding)

    def stop(self) -> None:
        """Finish all bindings and end the threads."""
        self._bindings.close()
        for thread in self.threads:
            thread.join()

    def _bind_all(self) -> None:
        while True:
            try:
                binding = self._bindings.get()
            except concurrency.Closed:
                return
            self._bind(binding)

    def _bind(self, binding: Binding) -> None:
        """Write the claims and the binding of a pod; undo the reservation if that fails."""
        uid = binding.queued.uid
        try:
            self._plugin.pre_bind(binding.attempt)
            concurrency.step("bind.started", pod=uid)
            self._api.bind(binding.attempt.pod, binding.node_name)
        except (
            scheduling_attempts.BindingError,
            apis.ApiError,
            transports.TransportError,
        ) as error:
            concurrency.step("bind.failed", pod=uid, reason=str(error))
            self._plugin.unreserve(binding.attempt)
            self._on_failure(binding, str(error))
        else:
            # The pod stays in flight until the informer delivers it as bound: an older event must
            # not queue it again.
            concurrency.step("bind.done", pod=uid, node=binding.node_name)
            self._reports.scheduled(binding.attempt.pod, binding.node_name)
