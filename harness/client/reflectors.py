"""Follows one collection: a list, then a watch that is resumed, and another list after a gap.

When the API server was away, the watch is resumed at the version of the last event, so that nothing
is missed. The subclass decides what to do with lists and events: `informers`, `recorders`.
"""

from harness import concurrency
from harness.client import apis, backoffs, transports

BACKOFF_FIRST_S, BACKOFF_MAX_S = 0.05, 5.0
"""First and longest wait between two watches while the API server is away, in seconds."""
END_TIMEOUT_S = 10.0
"""Time limit for the thread to end."""


class Reflector:
    """Lists and watches one collection, on a thread. `namespace` None: all namespaces."""

    def __init__(
        self,
        api: apis.Api,
        resource: apis.Resource,
        *,
        name: str,
        namespace: str | None = None,
        label_selector: str | None = None,
        backoff_max_s: float = BACKOFF_MAX_S,
    ) -> None:
        self._api, self._resource, self._name = api, resource, name
        self._namespace, self._label_selector = namespace, label_selector
        self._backoff_max_s = backoff_max_s
        self._version = ""
        """The version to watch from; empty: list first."""
        self._received = 0
        """Number of lines of the current watch."""
        self._stopped = concurrency.Event(f"{name}.stopped")
        self._watch: transports.Watch | None = None
        self._thread: concurrency.Thread | None = None

    def start(self) -> None:
        self._thread = concurrency.spawn(self._name, self._run)

    def stop(self) -> None:
        self._stopped.set()
        watch = self._watch
        if watch is not None:
            watch.close()
        if self._thread is not None:
            self._thread.join(END_TIMEOUT_S)

    def _run(self) -> None:
        backoff = backoffs.Backoff(first_s=BACKOFF_FIRST_S, max_s=self._backoff_max_s)
        while not self._stopped.is_set():
            begun_s, self._received, failed = concurrency.monotonic_s(), 0, False
            try:
                if not self._version:
                    self._list()
                self._follow()
            except (transports.TransportError, apis.ApiError) as error:
                if isinstance(error, apis.ApiError) and error.is_gone and self._version:
                    self._note_gap(error)
                    self._version = ""
                self._note_failure(error)
                failed = True
            lasted_s = concurrency.monotonic_s() - begun_s
            wait_s = backoff.after_watch(lasted_s=lasted_s, received=self._received, failed=failed)
            if wait_s:
                self._stopped.wait(wait_s)

    def _follow(self) -> None:
        watch = self._watch = self._api.watch(
            self._resource,
            namespace=self._namespace,
            label_selector=self._label_selector,
            resource_version=self._version,
        )
        self._note_opened()
        if self._stopped.is_set():
            watch.close()
        for line in watch:
            self._received += 1
            self._receive(line)

    def _list(self) -> None:
        """Take a list and set `_version`."""
        raise NotImplementedError

    def _receive(self, line: bytes) -> None:
        """Take an event and set `_version`."""
        raise NotImplementedError

    def _note_opened(self) -> None:
        """Handle that a watch was opened at `_version`."""

    def _note_gap(self, error: apis.ApiError) -> None:
        """Handle that `_version` is too old for the API server, before the next list."""

    def _note_failure(self, error: transports.TransportError | apis.ApiError) -> None:
        """Handle that a list or a watch has failed."""
