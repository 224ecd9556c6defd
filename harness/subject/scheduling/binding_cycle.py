"""The binding cycle: threads that write the claims and the binding of pods with reserved devices.

After bindingCycle in pkg/scheduler/schedule_one.go, which has a goroutine for each pod.
"""

import collections
import dataclasses
import functools
import itertools
from collections.abc import Callable

from harness import concurrency
from harness.client import apis, transports
from harness.subject.plugin import dynamic_resources, scheduling_attempts
from harness.subject.queueing import queue_parts
from harness.subject.telemetry import klog, pod_reports

IDLE_MAX = 32
"""Number of threads that wait for the next pods."""
_THREADS = "threads"
"""The parts of the list of threads: each by its number."""


@dataclasses.dataclass(frozen=True, slots=True)
class Binding:
    """A pod with reserved devices, and the node it is to run on."""

    queued: queue_parts.QueuedPod
    attempt: scheduling_attempts.Attempt
    node_name: str


class Binders:
    """The binding threads: one for each pod that is being bound, so that none waits for another.

    A thread that has finished waits for the next pod, which keeps its connection to the API server.
    """

    def __init__(
        self,
        api: apis.Api,
        plugin: dynamic_resources.DynamicResources,
        *,
        limit: int,
        idle_max: int = IDLE_MAX,
        reports: pod_reports.PodReports,
        on_failure: Callable[[Binding, Exception], None],
    ) -> None:
        """`limit`: number of pods that may be bound at the same time; 0: any number, as upstream.

        `idle_max`: number of threads that wait for the next pods. If that and the limit are 0, no
        pod meets another one's thread, as upstream. `on_failure(binding, error)` is called when the
        reservation has been undone.
        """
        self._api, self._plugin, self._limit, self._idle_max = api, plugin, limit, idle_max
        self._are_shared = bool(limit or idle_max)
        """True if a thread may bind several pods, one after the other."""
        self._reports, self._on_failure = reports, on_failure
        self._changed = concurrency.condition("bindings")
        self._bindings: collections.deque[Binding] = collections.deque()
        """Those that no thread has taken yet."""
        self._threads: dict[int, concurrency.Thread] = {}
        self._numbers = itertools.count()
        self._idle = 0
        """Number of threads that wait for a binding."""
        self._is_stopped = False

    def put(self, binding: Binding) -> None:
        if not self._are_shared:
            with concurrency.in_parts(self._changed):
                self._start_thread(binding)
            return
        with self._changed:
            self._bindings.append(binding)
            if len(self._bindings) <= self._idle:
                self._changed.notify()
            elif not self._limit or len(self._threads) < self._limit:
                self._start_thread()

    def stop(self) -> None:
        """Finish all bindings and end the threads."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()
            threads = list(self._threads.values())
        for thread in threads:
            thread.join()

    def _start_thread(self, first: Binding | None = None) -> None:
        """Start a thread; `first`: what it binds before it looks for more."""
        number = next(self._numbers)
        concurrency.writes(self._changed, _THREADS, str(number))
        bind_all = functools.partial(self._bind_all, number, first)
        self._threads[number] = concurrency.spawn(f"binder-{number}", bind_all)

    def _bind_all(self, number: int, first: Binding | None) -> None:
        if first is not None:
            self._bind(first)
        while (binding := self._next(number)) is not None:
            self._bind(binding)

    def _next(self, number: int) -> Binding | None:
        """Take a binding, waiting for one; None: this thread is not needed any more."""
        if not self._are_shared:
            with concurrency.in_parts(self._changed):
                concurrency.writes(self._changed, _THREADS, str(number))
                del self._threads[number]
            return None
        with self._changed:
            while not self._bindings:
                if self._is_stopped or self._idle >= self._idle_max:
                    del self._threads[number]
                    return None
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            return self._bindings.popleft()

    def _bind(self, binding: Binding) -> None:
        uid = binding.queued.uid
        try:
            self._plugin.pre_bind(binding.attempt)
            concurrency.step("bind.started", pod=uid, node=binding.node_name)
            self._write_binding(binding)
        except (
            scheduling_attempts.BindingError,
            apis.ApiError,
            transports.TransportError,
        ) as error:
            concurrency.step(_failed_step(error), pod=uid, reason=str(error))
            self._plugin.unreserve(binding.attempt)
            if not isinstance(error, scheduling_attempts.ClaimInUseError):
                message = "Error scheduling pod; retrying"
                klog.error(0, error, message, pod=binding.attempt.pod)
            self._on_failure(binding, error)
        else:
            # The pod stays in flight until the informer delivers it as bound: an older event must
            # not queue it again.
            concurrency.step("bind.done", pod=uid, node=binding.node_name)
            self._reports.forget(binding.attempt.pod)

    def _write_binding(self, binding: Binding) -> None:
        """Write the binding. Raises ApiError or TransportError, after which all is undone."""
        self._api.bind(binding.attempt.pod, binding.node_name)


def _failed_step(error: Exception) -> str:
    is_unschedulable = isinstance(error, scheduling_attempts.ClaimInUseError)
    return "bind.unschedulable" if is_unschedulable else "bind.failed"
